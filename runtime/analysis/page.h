/* SPDX-License-Identifier: MIT */
/* Text pages: 80 columns, no colour, nothing from a log that could drive a terminal. */
#ifndef ADP_ANALYSIS_PAGE_H
#define ADP_ANALYSIS_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ADP_PAGE_WIDTH 80

/* Room for any number as text. */
struct adp_digits {
    char text[32];
};

/* A reading: whole numbers whole, others to three digits; "--" for NaN. */
struct adp_digits adp_page_number(double value);
/* One to be held against others: to six digits. */
struct adp_digits adp_page_value(double value);
/* A threshold or parameter: as many digits as were written, up to ten. */
struct adp_digits adp_page_exact(double value);
/* "63.5%"; "--" for NaN. */
struct adp_digits adp_page_percent(double share);
/* "0.365"; "--" for NaN. */
struct adp_digits adp_page_share(double share);

/* Prints as printf does; control and invisible characters, and what is no UTF-8, escaped (the
 * newlines that `format` begins and ends with apart). */
void adp_page_put(FILE *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A paragraph, broken at blanks; `first` and `rest` are the indents. Ends with a newline.
 */
void adp_page_wrap(FILE *to, int first, int rest, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* `label`, and from `column` on a paragraph; longer labels keep a line to themselves. */
void adp_page_field(FILE *to, int column, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A blank line and a heading. */
void adp_page_heading(FILE *to, const char *heading);
/* A line across the page, between blank ones. */
void adp_page_rule(FILE *to);
/* `name` in a column of `width`, alone on its line when it is longer. */
void adp_page_name(FILE *to, const char *name, int width);
/* "y" for one, `many` otherwise, as in "1 run", "2 runs". */
const char *adp_page_plural(uint64_t n, const char *one, const char *many);
/* A sentence as a page prints it, without its line breaks, for where there are no lines. */
struct adp_sentence {
    FILE *to; /* write here what makes it */
    char *text;
    size_t len;
};
/* 0 or ADP_ENOMEM. */
int adp_sentence_begin(struct adp_sentence *sentence);
/* What was written, every run of blanks and line feeds as one blank; the caller frees it.
 * NULL: out of memory. */
char *adp_sentence_end(struct adp_sentence *sentence);
/* 0, or ADP_EIO when something could not be written. */
int adp_page_end(FILE *to);

/* Order in which r2 comes before r10. */
int adp_page_natural(const char *a, const char *b);

#endif
