// SPDX-License-Identifier: MIT
// Time to the first byte of the answer's body. $upstream_header_time is not that: engines send
// their headers before the first token.
function first_byte(r, data, flags) {
    if (data.length && !r.variables.admit_ttft_ms)
        r.variables.admit_ttft_ms = Math.round(parseFloat(r.variables.request_time) * 1000);
    r.sendBuffer(data, flags);
}
export default { first_byte };
