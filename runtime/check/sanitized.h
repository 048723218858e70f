/* SPDX-License-Identifier: MIT */
/* Whether this is built with a sanitizer, which needs more of the stack and maps terabytes. */
#ifndef ADP_RUNTIME_CHECK_SANITIZED_H
#define ADP_RUNTIME_CHECK_SANITIZED_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define ADP_SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ADP_SANITIZED 1
#endif
#endif
#ifndef ADP_SANITIZED
#define ADP_SANITIZED 0
#endif

#endif
