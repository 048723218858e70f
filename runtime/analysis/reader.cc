/* SPDX-License-Identifier: MIT */
/* One line of a log as a struct, by simdjson's DOM.
 *
 * DOM, not on-demand: it checks the whole line, so that a line it accepts is JSON to the
 * last byte, and it reads long decimals rightly (on-demand 3.0.1 does neither).
 *
 * Three things JSON lacks are in logs all the same: bare NaN and infinities, numbers
 * beyond what simdjson takes, and escaped lone surrogates; Python writes all three. A
 * line that DOM refuses is copied with those, and nothing else, replaced by JSON (`mend`)
 * and read again. DOM judges the copy as strictly, so a line is accepted exactly when it
 * is JSON once these tokens are. Tokens are maximal: "NaNs" or "1NaN" is no token of
 * ours.
 *
 * Nothing throws out of here: what the standard library throws for want of memory becomes
 * ADP_ENOMEM at the two functions that C calls. */
#include "runtime/analysis/reader.h"

#include "core/error.h"

#include <simdjson.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <new>
#include <string>
#include <string_view>
#include <vector>

using simdjson::dom::element;
using simdjson::dom::element_type;
using std::string_view;

static_assert(ADP_READER_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads further");

struct adp_reader {
    simdjson::dom::parser parser;
    std::vector<adp_log_reading> signals;
    std::vector<adp_setting> params;
    std::vector<adp_entry_gate> gates;
    std::deque<std::string> words; /* texts that the line holds in another form */
    std::string copy;              /* the mended line, padded */
    locale_t c_locale;
};

extern "C" adp_reader *adp_reader_create(void)
try {
    adp_reader *reader = new adp_reader;
    reader->c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    if (!reader->c_locale) {
        delete reader;
        return nullptr;
    }
    return reader;
} catch (const std::bad_alloc &) {
    return nullptr;
}

extern "C" void adp_reader_destroy(adp_reader *reader)
{
    if (!reader)
        return;
    freelocale(reader->c_locale);
    delete reader;
}

extern "C" const char *adp_corrupt_word(adp_corrupt corrupt)
{
    switch (corrupt) {
    case ADP_CORRUPT_NOT_UTF8:
        return "not UTF-8";
    case ADP_CORRUPT_NOT_JSON:
        return "not JSON";
    case ADP_CORRUPT_NOT_OBJECT:
        return "not an object";
    case ADP_CORRUPT_UNKNOWN:
        return "of no known kind";
    case ADP_CORRUPT_TOO_LONG:
        return "longer than 1 MiB";
    case ADP_CORRUPT_UNTERMINATED:
        return "without an end";
    case ADP_CORRUPT_KINDS:
        break;
    }
    return "unknown";
}

/* ---- mending ---------------------------------------------------------------------- */

static bool is_token(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '+' || c == '-' || c == '.' || c == '_';
}

static size_t digits(string_view s, size_t i)
{
    size_t n = 0;
    while (i + n < s.size() && s[i + n] >= '0' && s[i + n] <= '9')
        n++;
    return n;
}

/* Is `s` a number by JSON's grammar, and one without point and exponent? */
static bool is_number(string_view s, bool *ret_integer)
{
    size_t i = !s.empty() && s[0] == '-' ? 1 : 0;
    size_t n = digits(s, i);
    if (n == 0 || (n > 1 && s[i] == '0'))
        return false;
    i += n;
    *ret_integer = i == s.size();
    if (i < s.size() && s[i] == '.') {
        n = digits(s, i + 1);
        if (n == 0)
            return false;
        i += 1 + n;
    }
    if (i < s.size() && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < s.size() && (s[i] == '+' || s[i] == '-'))
            i++;
        n = digits(s, i);
        if (n == 0)
            return false;
        i += n;
    }
    return i == s.size();
}

/* Appends the token; true when it was one of those JSON, or simdjson, lacks. */
static bool mend_token(adp_reader &r, string_view token, uint32_t *not_finite)
{
    bool integer = false;
    bool absent = token == "NaN" || token == "Infinity" || token == "-Infinity";
    if (!absent && is_number(token, &integer)) {
        /* Beyond a double (1e999) is not finite either; an integer beyond 64 bits is one
         * that must be read as a double. */
        std::string terminated(token);
        absent = std::isinf(strtod_l(terminated.c_str(), nullptr, r.c_locale));
        if (!absent && integer && token.size() > 18) {
            r.copy.append(token).append(".0");
            return true;
        }
    }
    if (absent) {
        ++*not_finite;
        r.copy.append("null");
        return true;
    }
    r.copy.append(token);
    return false;
}

/* The code unit of `\uXXXX` at `i`, or -1. */
static int32_t unit_at(string_view s, size_t i)
{
    if (i + 6 > s.size() || s[i] != '\\' || s[i + 1] != 'u')
        return -1;
    int32_t unit = 0;
    for (size_t k = i + 2; k < i + 6; k++) {
        char c = s[k];
        int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Copies the string that begins at `i`, a lone surrogate as U+FFFD; returns where it
 * ends.
 */
static size_t mend_string(adp_reader &r, string_view s, size_t i, bool *ret_mended)
{
    r.copy.push_back(s[i++]);
    while (i < s.size()) {
        if (s[i] == '"') {
            r.copy.push_back('"');
            return i + 1;
        }
        size_t n = s[i] == '\\' && i + 1 < s.size() ? 2 : 1;
        int32_t unit = unit_at(s, i);
        if (unit >= 0xd800 && unit <= 0xdfff) {
            int32_t next = unit < 0xdc00 ? unit_at(s, i + 6) : -1;
            n = next >= 0xdc00 && next <= 0xdfff ? 12 : 6;
            if (n == 6) {
                r.copy.append("\\ufffd");
                *ret_mended = true;
                i += n;
                continue;
            }
        }
        r.copy.append(s.substr(i, n));
        i += n;
    }
    return i;
}

/* Copies the line, mended. False: there was nothing of ours to mend. */
static bool mend(adp_reader &r, string_view line, uint32_t *not_finite)
{
    bool mended = false;
    r.copy.clear();
    for (size_t i = 0; i < line.size();) {
        if (line[i] == '"') {
            i = mend_string(r, line, i, &mended);
        } else if (is_token(line[i])) {
            size_t n = 1;
            while (i + n < line.size() && is_token(line[i + n]))
                n++;
            if (mend_token(r, line.substr(i, n), not_finite))
                mended = true;
            i += n;
        } else {
            r.copy.push_back(line[i++]);
        }
    }
    return mended;
}

/* ---- values ------------------------------------------------------------------------ */

/* Names live on as C strings: a NUL within one is written out, or it would end the name
 * there without a word. */
static adp_text name_of(adp_reader &r, string_view s)
{
    if (s.find('\0') == string_view::npos)
        return { s.data(), s.size() };
    std::string &word = r.words.emplace_back();
    for (char c : s)
        if (c)
            word.push_back(c);
        else
            word.append("\\x00");
    return { word.data(), word.size() };
}

static adp_text text_of(adp_reader &r, const element &value)
{
    string_view s;
    if (!value.get(s))
        return name_of(r, s);
    if (value.is_null())
        return { nullptr, 0 };
    /* The original writes whatever the host gave: ids and runs may be numbers. */
    r.words.emplace_back(simdjson::minify(value));
    return { r.words.back().data(), r.words.back().size() };
}

static double number_of(const element &value)
{
    double number; /* integers convert; true and false do not */
    return value.get(number) ? NAN : number;
}

static int64_t count_of(const element &value)
{
    double number = number_of(value);
    if (!(number >= 0 && number < 9007199254740992.0) || number != std::floor(number))
        return -1;
    return static_cast<int64_t>(number);
}

/* 1 or 0 as the value says (the original writes any truth a host gives), -1: neither. */
static int truth_of(const element &value)
{
    bool truth;
    if (!value.get(truth))
        return truth;
    double number = number_of(value);
    return std::isnan(number) ? -1 : number != 0;
}

static uint32_t op_of(const element &value)
{
    string_view s;
    if (value.get(s))
        return 0;
    return s == ">="   ? ADP_GE
           : s == ">"  ? ADP_GT
           : s == "<=" ? ADP_LE
           : s == "<"  ? ADP_LT
                       : 0;
}

/* ---- what a line holds --------------------------------------------------------------
 */

/* Which keys that tell the kinds apart are there. */
struct seen {
    bool verdict, outcome, dropped, scrape_error, signals;
};

static bool take_signals(adp_reader &r, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return false;
    r.signals.clear();
    for (auto field : object)
        r.signals.push_back({ name_of(r, field.key), number_of(field.value) });
    return true;
}

static void take_params(adp_reader &r, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return;
    r.params.clear();
    for (auto field : object) {
        adp_setting setting = { name_of(r, field.key), { "", 0 }, NAN };
        setting.value = number_of(field.value);
        if (std::isnan(setting.value)) {
            r.words.emplace_back(simdjson::minify(field.value));
            setting.word = { r.words.back().data(), r.words.back().size() };
        }
        r.params.push_back(setting);
    }
}

static void take_gates(adp_reader &r, const element &value)
{
    simdjson::dom::array array;
    if (value.get(array))
        return;
    r.gates.clear();
    for (auto item : array) {
        adp_entry_gate gate = {};
        simdjson::dom::object object;
        if (!item.get(object))
            for (auto field : object) {
                if (field.key == "rule")
                    gate.rule = static_cast<uint32_t>(count_of(field.value));
                else if (field.key == "op")
                    gate.op = op_of(field.value);
                else if (field.key == "signal")
                    gate.signal = text_of(r, field.value);
                else if (field.key == "param")
                    gate.param = text_of(r, field.value);
            }
        r.gates.push_back(gate);
    }
}

static void take_card(adp_reader &r, adp_entry &e, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return;
    for (auto field : object) {
        if (field.key == "signal_quantity") {
            e.signal_quantity = text_of(r, field.value);
        } else if (field.key == "gates") {
            take_gates(r, field.value);
            e.has_gates = field.value.is_array();
        }
    }
}

static void take_disclosure(adp_entry &e, const element &value)
{
    simdjson::dom::object object, slo;
    if (value.get(object) || object["slo"].get(slo))
        return;
    for (auto field : slo)
        if (field.key == "ttft_ms")
            e.slo_ttft_ms = number_of(field.value);
}

static uint32_t end_of(const element &value)
{
    string_view s;
    if (value.get(s))
        return 0;
    return s == "cancelled" ? ADP_CANCELLED
           : s == "failed"  ? ADP_FAILED
           : s == "done"    ? ADP_DONE
                            : 0;
}

static bool take_outcome(adp_entry &e, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return false;
    for (auto field : object) {
        if (field.key == "ttft_ms") {
            e.ttft_ms = number_of(field.value);
            e.ttft_given = true;
        } else if (field.key == "ok")
            e.ok = truth_of(field.value);
        else if (field.key == "end")
            e.end = end_of(field.value);
    }
    return true;
}

static bool take_loss(adp_entry &e, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return false;
    for (auto field : object)
        if (field.key == "count")
            e.lost = number_of(field.value);
    return e.lost >= 0 && e.lost < 9007199254740992.0;
}

static bool take_verdict(adp_entry &e, const element &value)
{
    string_view s;
    if (value.get(s))
        return false;
    if (s == "admit")
        e.verdict = ADP_ADMIT;
    else if (s == "reject")
        e.verdict = ADP_REJECT;
    else if (s == "defer")
        e.verdict = ADP_DEFER;
    else
        return false;
    return true;
}

/* Keys whose value is a text, and where it goes. */
static const struct {
    string_view key;
    adp_text adp_entry::*to;
} texts[] = {
    { "instance", &adp_entry::instance },
    { "experiment", &adp_entry::experiment },
    { "run", &adp_entry::run },
    { "notes", &adp_entry::notes },
    { "policy", &adp_entry::policy },
    { "config", &adp_entry::config },
    { "request_id", &adp_entry::request_id },
    { "id", &adp_entry::handle },
    { "reason", &adp_entry::reason },
};

/* The rest. False: the key tells the kind, and its value cannot be that. */
static bool take(adp_reader &r, adp_entry &e, seen &has, string_view key,
                 const element &value)
{
    for (const auto &text : texts)
        if (key == text.key) {
            e.*text.to = text_of(r, value);
            return true;
        }
    string_view word;
    if (key == "at")
        e.at = number_of(value);
    else if (key == "lane")
        e.lane = count_of(value);
    else if (key == "seq")
        e.seq = count_of(value);
    else if (key == "signals")
        has.signals = take_signals(r, value);
    else if (key == "params")
        take_params(r, value);
    else if (key == "card")
        take_card(r, e, value);
    else if (key == "baseline")
        e.baseline = truth_of(value) == 1;
    else if (key == "enforced")
        e.enforced = truth_of(value) != 0;
    else if (key == "fault")
        e.fault = !value.is_null();
    else if (key == "margin")
        e.margin = number_of(value);
    else if (key == "disclosure")
        take_disclosure(e, value);
    else if (key == "role")
        e.shadow = !value.get(word) && word == "shadow";
    else if (key == "verdict")
        return has.verdict = take_verdict(e, value);
    else if (key == "outcome")
        return has.outcome = take_outcome(e, value);
    else if (key == "dropped")
        return has.dropped = take_loss(e, value);
    else if (key == "scrape_error")
        has.scrape_error = true;
    return true;
}

/* The kind is what the first of these keys says (docs/log-format.md); 0: of none. */
static adp_entry_kind kind_of(const seen &has)
{
    return has.verdict        ? ADP_ENTRY_DECISION
           : has.outcome      ? ADP_ENTRY_OUTCOME
           : has.dropped      ? ADP_ENTRY_LOSS
           : has.scrape_error ? ADP_ENTRY_SCRAPE_ERROR
           : has.signals      ? ADP_ENTRY_STATE
                              : adp_entry_kind(0);
}

static bool fill(adp_reader &r, adp_entry &e, const simdjson::dom::object &object)
{
    e = {};
    e.at = e.margin = e.slo_ttft_ms = e.ttft_ms = e.lost = NAN;
    e.lane = e.seq = e.ok = -1;
    e.enforced = true;
    r.signals.clear();
    r.params.clear();
    r.gates.clear();
    r.words.clear();
    seen has = {};
    for (auto field : object)
        if (!take(r, e, has, field.key, field.value))
            return false;
    e.kind = kind_of(has);
    e.signals = r.signals.data();
    e.n_signals = r.signals.size();
    e.params = r.params.data();
    e.n_params = r.params.size();
    e.gates = r.gates.data();
    e.n_gates = r.gates.size();
    return e.kind != 0;
}

/* 1 with the root, 0 with the fault, or ADP_ENOMEM. */
static int parse(adp_reader &r, string_view line, element *ret, uint32_t *not_finite,
                 adp_corrupt *ret_corrupt)
{
    auto error = r.parser.parse(line.data(), line.size(), false).get(*ret);
    if (!error)
        return 1;
    if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY)
        return ADP_ENOMEM;
    if (!simdjson::validate_utf8(line.data(), line.size())) {
        *ret_corrupt = ADP_CORRUPT_NOT_UTF8;
        return 0;
    }
    *ret_corrupt = ADP_CORRUPT_NOT_JSON;
    if (!mend(r, line, not_finite))
        return 0;
    size_t len = r.copy.size();
    r.copy.resize(len + ADP_READER_PADDING);
    error = r.parser.parse(r.copy.data(), len, false).get(*ret);
    return error == simdjson::MEMALLOC ? int { ADP_ENOMEM } : !error;
}

extern "C" int adp_reader_line(adp_reader *reader, const char *line, size_t len,
                               adp_entry *ret, adp_corrupt *ret_corrupt)
try {
    element root;
    uint32_t not_finite = 0;
    int read = parse(*reader, string_view(line, len), &root, &not_finite, ret_corrupt);
    if (read <= 0)
        return read;
    simdjson::dom::object object;
    if (root.get(object)) {
        *ret_corrupt = ADP_CORRUPT_NOT_OBJECT;
        return 0;
    }
    adp_entry entry;
    if (!fill(*reader, entry, object)) {
        *ret_corrupt = ADP_CORRUPT_UNKNOWN;
        return 0;
    }
    entry.not_finite = not_finite;
    *ret = entry;
    return 1;
} catch (const std::bad_alloc &) {
    return ADP_ENOMEM;
}
