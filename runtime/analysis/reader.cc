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
#include "runtime/analysis/shape.h"

#include <simdjson.h>

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

using simdjson::dom::element;
using simdjson::dom::element_type;
using std::string_view;

static_assert(ADP_READER_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads further");

namespace
{

struct free_shape {
    void operator()(adp_shape *shape) const
    {
        adp_shape_destroy(shape);
    }
};

/* Lines of one shape: what they all say, and where the rest of them goes. */
struct learned {
    std::unique_ptr<adp_shape, free_shape> shape;
    adp_entry base; /* its texts and arrays are those below */
    std::deque<std::string> words;
    std::vector<adp_log_reading> signals;
    std::vector<adp_log_column> replicas;
    std::vector<double> cells; /* of replicas, one column after the other */
    std::vector<adp_log_why> whys;
    std::vector<adp_setting> params;
    std::vector<adp_entry_gate> gates;
    struct use {
        uint32_t slot, signal;
        int target;
    };
    std::vector<use> uses;
    learned *next; /* what came after it last time; NULL: not known */
};

/* Shapes of one log are few: decisions and outcomes, with and without this signal or that.
 * What has more is read by the parser. */
enum { MOST_SHAPES = 64, MOST_MISSES = 64 };

} // namespace

struct adp_reader {
    simdjson::dom::parser parser;
    std::vector<adp_log_reading> signals;
    std::vector<adp_log_column> replicas;
    std::vector<double> cells;
    std::vector<adp_log_why> whys;
    std::vector<adp_setting> params;
    std::vector<adp_log_why> provenance;
    std::vector<adp_entry_gate> gates;
    std::deque<std::string> words; /* texts that the line holds in another form */
    std::string copy;              /* the mended line, padded */
    locale_t c_locale;

    std::vector<std::unique_ptr<learned>> shapes; /* the most useful first */
    std::vector<adp_token> tokens;
    learned *last;   /* the shape of the line before; NULL: none */
    uint32_t misses; /* lines in a row that had none */
};

extern "C" adp_reader *adp_reader_create(void)
try {
    adp_reader *reader = new adp_reader();
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
        return "longer than 4 MiB";
    case ADP_CORRUPT_UNTERMINATED:
        return "without an end";
    case ADP_CORRUPT_PACKED:
        return "damaged where it is packed";
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

static const double TOO_MANY =
    9007199254740992.0; /* 2^53: from here on doubles skip numbers */

static int64_t whole(double number)
{
    if (!(number >= 0 && number < TOO_MANY) || number != std::floor(number))
        return -1;
    return static_cast<int64_t>(number);
}

/* No writer comes that far: such a number is wrong, and reads as a gap as wide as there can be. */
static int64_t seq_of(double number)
{
    return number >= TOO_MANY ? static_cast<int64_t>(TOO_MANY) : whole(number);
}

static int64_t count_of(const element &value)
{
    return whole(number_of(value));
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

/* Where each column begins is known when all cells are there (`fill`). */
static void take_replicas(adp_reader &r, const element &value)
{
    simdjson::dom::object object;
    r.replicas.clear();
    r.cells.clear();
    if (value.get(object))
        return;
    for (auto field : object) {
        simdjson::dom::array array;
        if (field.value.get(array))
            continue;
        adp_log_column column = { name_of(r, field.key), nullptr, 0 };
        for (auto item : array) {
            r.cells.push_back(number_of(item));
            column.n++;
        }
        r.replicas.push_back(column);
    }
}

static void place_columns(std::vector<adp_log_column> &columns, const double *cells)
{
    for (auto &column : columns) {
        column.value = cells;
        cells += column.n;
    }
}

static void take_whys(adp_reader &r, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return;
    r.whys.clear();
    for (auto field : object)
        r.whys.push_back({ name_of(r, field.key), text_of(r, field.value) });
}

/* False: it is no object, and says nothing. */
static bool take_params(adp_reader &r, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return false;
    r.params.clear();
    for (auto field : object) {
        adp_setting setting = { name_of(r, field.key), { "", 0 }, NAN, {} };
        setting.value = number_of(field.value);
        if (std::isnan(setting.value)) {
            r.words.emplace_back(simdjson::minify(field.value));
            setting.word = { r.words.back().data(), r.words.back().size() };
        }
        r.params.push_back(setting);
    }
    return true;
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

static void take_disclosure(adp_reader &r, adp_entry &e, const element &value)
{
    simdjson::dom::object object, slo;
    adp_disclosure &d = e.disclosure;
    if (value.get(object))
        return;
    for (auto field : object)
        if (field.key == "model")
            d.model = text_of(r, field.value);
        else if (field.key == "engine")
            d.engine = text_of(r, field.value);
        else if (field.key == "hardware")
            d.hardware = text_of(r, field.value);
        else if (field.key == "workload")
            d.workload = text_of(r, field.value);
        else if (field.key == "capacity_rps")
            d.capacity_rps = number_of(field.value);
        else if (field.key == "unloaded_ttft_ms")
            d.unloaded_ttft_ms = number_of(field.value);
        else if (field.key == "kv_capacity_tokens")
            d.kv_capacity_tokens = number_of(field.value);
        else if (field.key == "concurrency")
            d.concurrency = number_of(field.value);
        else if (field.key == "request_tokens")
            d.request_tokens = number_of(field.value);
    if (object["slo"].get(slo))
        return;
    d.slo = text_of(r, object["slo"].value());
    for (auto field : slo)
        if (field.key == "ttft_ms")
            e.slo_ttft_ms = number_of(field.value);
}

/* Parameters may come before or after; settled in `fill`. */
static void take_provenance(adp_reader &r, const element &value)
{
    simdjson::dom::object object;
    r.provenance.clear();
    if (value.get(object))
        return;
    for (auto field : object)
        r.provenance.push_back({ name_of(r, field.key), text_of(r, field.value) });
}

static void settle_provenance(adp_reader &r)
{
    for (auto &param : r.params)
        for (const auto &one : r.provenance)
            if (one.name.len == param.name.len &&
                memcmp(one.name.text, param.name.text, one.name.len) == 0)
                param.provenance = one.why;
}

static void take_facts(adp_reader &r, adp_entry &e, const element &value)
{
    simdjson::dom::object object;
    if (value.get(object))
        return;
    for (auto field : object)
        if (field.key == "tenant")
            e.facts.tenant = text_of(r, field.value);
        else if (field.key == "session")
            e.facts.session = text_of(r, field.value);
        else if (field.key == "slo_class")
            e.facts.slo_class = text_of(r, field.value);
        else if (field.key == "priority")
            e.facts.priority = number_of(field.value);
        else if (field.key == "prompt_tokens")
            e.facts.prompt_tokens = number_of(field.value);
        else if (field.key == "max_output_tokens")
            e.facts.max_output_tokens = number_of(field.value);
        else if (field.key == "ttft_deadline_ms")
            e.facts.ttft_deadline_ms = number_of(field.value);
}

static uint32_t end_word(string_view s)
{
    return s == "cancelled" ? ADP_CANCELLED
           : s == "failed"  ? ADP_FAILED
           : s == "done"    ? ADP_DONE
                            : 0;
}

static uint32_t end_of(const element &value)
{
    string_view s;
    return value.get(s) ? 0 : end_word(s);
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

static bool verdict_word(adp_entry &e, string_view s)
{
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

static bool take_verdict(adp_entry &e, const element &value)
{
    string_view s;
    return !value.get(s) && verdict_word(e, s);
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
        e.seq = seq_of(number_of(value));
    else if (key == "signals")
        has.signals = take_signals(r, value);
    else if (key == "replicas")
        take_replicas(r, value);
    else if (key == "whys")
        take_whys(r, value);
    else if (key == "params")
        e.has_params = take_params(r, value);
    else if (key == "provenance")
        take_provenance(r, value);
    else if (key == "card")
        take_card(r, e, value);
    else if (key == "baseline")
        e.baseline = truth_of(value) == 1;
    else if (key == "watch")
        e.watch = truth_of(value) == 1;
    else if (key == "enforced")
        e.enforced = truth_of(value) != 0;
    else if (key == "fault")
        e.fault = !value.is_null();
    else if (key == "metrics_omitted")
        e.metrics_omitted = true; /* how many is not asked: its shape says it */
    else if (key == "margin")
        e.margin = number_of(value);
    else if (key == "draw")
        e.draw = number_of(value);
    else if (key == "mono_ns")
        e.mono_ns = count_of(value);
    else if (key == "disclosure")
        take_disclosure(r, e, value);
    else if (key == "request")
        take_facts(r, e, value);
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
    e.facts.priority = e.facts.prompt_tokens = NAN;
    e.facts.max_output_tokens = e.facts.ttft_deadline_ms = e.draw = NAN;
    e.disclosure.capacity_rps = e.disclosure.unloaded_ttft_ms = NAN;
    e.disclosure.kv_capacity_tokens = e.disclosure.concurrency = NAN;
    e.disclosure.request_tokens = NAN;
    e.lane = e.seq = e.mono_ns = e.ok = -1;
    e.enforced = true;
    r.signals.clear();
    r.replicas.clear();
    r.cells.clear();
    r.whys.clear();
    r.params.clear();
    r.provenance.clear();
    r.gates.clear();
    r.words.clear();
    seen has = {};
    for (auto field : object)
        if (!take(r, e, has, field.key, field.value))
            return false;
    settle_provenance(r);
    e.kind = kind_of(has);
    e.signals = r.signals.data();
    e.n_signals = r.signals.size();
    place_columns(r.replicas, r.cells.data());
    e.replicas = r.replicas.data();
    e.n_replicas = r.replicas.size();
    e.whys = r.whys.data();
    e.n_whys = r.whys.size();
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

/* ---- lines of a known shape ----------------------------------------------------------
 *
 * What a slot's scalar means must come out as `take` has it; what is unusual (a number
 * where a text belongs) is left to it. */

namespace
{

enum target {
    TO_NOTHING,
    TO_AT,
    TO_LANE,
    TO_SEQ,
    TO_REQUEST_ID,
    TO_HANDLE,
    TO_SIGNAL,
    TO_CELL,
    TO_VERDICT,
    TO_REASON,
    TO_ENFORCED,
    TO_ROLE,
    TO_FAULT,
    TO_MARGIN,
    TO_DRAW,
    TO_MONO,
    TO_TENANT,
    TO_SESSION,
    TO_CLASS,
    TO_MAX_OUTPUT,
    TO_DEADLINE,
    TO_PRIORITY,
    TO_PROMPT_TOKENS,
    TO_TTFT,
    TO_OK,
    TO_END,
    TARGETS
};

struct place {
    string_view key;
    int target;
};

} // namespace

/* Scalars of the line itself that differ from line to line. */
static const place top[] = {
    { "at", TO_AT },
    { "lane", TO_LANE },
    { "seq", TO_SEQ },
    { "request_id", TO_REQUEST_ID },
    { "id", TO_HANDLE },
    { "verdict", TO_VERDICT },
    { "reason", TO_REASON },
    { "enforced", TO_ENFORCED },
    { "role", TO_ROLE },
    { "fault", TO_FAULT },
    { "margin", TO_MARGIN },
    { "draw", TO_DRAW },
    { "mono_ns", TO_MONO },
    { "experiment", ADP_SHAPE_LITERAL },
    { "run", ADP_SHAPE_LITERAL },
    { "notes", ADP_SHAPE_LITERAL },
    { "policy", ADP_SHAPE_LITERAL },
    { "baseline", ADP_SHAPE_LITERAL },
    { "config", ADP_SHAPE_LITERAL },
    { "watch", ADP_SHAPE_LITERAL },
    { "instance", ADP_SHAPE_LITERAL },
    { "v", ADP_SHAPE_LITERAL },
    /* These say the kind, and must be objects. */
    { "outcome", ADP_SHAPE_REFUSE },
    { "dropped", ADP_SHAPE_REFUSE },
    { "scrape_error", ADP_SHAPE_REFUSE },
    { "signals", ADP_SHAPE_REFUSE },
};

static const place in_request[] = { { "tenant", TO_TENANT },
                                    { "session", TO_SESSION },
                                    { "slo_class", TO_CLASS },
                                    { "priority", TO_PRIORITY },
                                    { "prompt_tokens", TO_PROMPT_TOKENS },
                                    { "max_output_tokens", TO_MAX_OUTPUT },
                                    { "ttft_deadline_ms", TO_DEADLINE } };
static const place in_outcome[] = { { "ttft_ms", TO_TTFT },
                                    { "ok", TO_OK },
                                    { "end", TO_END } };

template <size_t n>
static int look_up(const place (&places)[n], string_view key, int otherwise)
{
    for (const place &one : places)
        if (one.key == key)
            return one.target;
    return otherwise;
}

static int choose(const adp_shape_path *path, void *)
{
    if (!path->depth || !path->key[0])
        return ADP_SHAPE_REFUSE;
    string_view first(path->key[0], path->len[0]);
    if (path->depth == 1)
        return look_up(top, first, TO_NOTHING);
    if (first == "dropped" || first == "scrape_error")
        return ADP_SHAPE_REFUSE;
    for (string_view whole :
         { "params", "provenance", "card", "disclosure", "sources", "whys" })
        if (first == whole)
            return ADP_SHAPE_LITERAL;
    string_view second = path->depth == 2 && path->key[1]
                             ? string_view(path->key[1], path->len[1])
                             : string_view();
    if (first == "signals") /* one within another is missed when signals are counted */
        return path->depth == 2 ? int { TO_SIGNAL } : int { TO_NOTHING };
    if (first == "replicas")
        return path->depth == 3 && path->key[1] && !path->key[2]
                   ? int { TO_CELL }
                   : int { ADP_SHAPE_REFUSE };
    if (first == "outcome")
        return look_up(in_outcome, second, TO_NOTHING);
    if (first == "request")
        return path->depth == 2 ? look_up(in_request, second, TO_NOTHING)
                                : int { ADP_SHAPE_REFUSE };
    /* `{"request_id":{"a":1}}`: the id is the object's text. */
    return look_up(top, first, TO_NOTHING) == TO_NOTHING ? int { TO_NOTHING }
                                                         : int { ADP_SHAPE_REFUSE };
}

static double number_of(const adp_token &token)
{
    static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                   1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                   1e14, 1e15, 1e16, 1e17, 1e18 };
    if (token.kind != ADP_TOKEN_NUMBER)
        return NAN;
    /* Both are doubles without a rounding, so that their quotient is rounded once. */
    if (token.mantissa <= 1ull << 53) {
        double number = static_cast<double>(token.mantissa) / tens[token.decimals];
        return token.negative && !(token.integer && !token.mantissa) ? -number : number;
    }
    double number = NAN;
    std::from_chars(token.text, token.text + token.len, number);
    return number;
}

static bool is_absent(const adp_token &token)
{
    return token.kind == ADP_TOKEN_NULL || token.kind == ADP_TOKEN_NOT_FINITE;
}

/* False: the parser's to say. */
static bool text_of(const adp_token &token, adp_text *ret)
{
    if (token.kind != ADP_TOKEN_TEXT && !is_absent(token))
        return false;
    *ret =
        is_absent(token) ? adp_text { nullptr, 0 } : adp_text { token.text, token.len };
    return true;
}

static string_view word_of(const adp_token &token)
{
    return token.kind == ADP_TOKEN_TEXT ? string_view(token.text, token.len)
                                        : string_view();
}

static int64_t count_of(const adp_token &token)
{
    return whole(number_of(token));
}

static int truth_of(const adp_token &token)
{
    return token.kind == ADP_TOKEN_TRUE     ? 1
           : token.kind == ADP_TOKEN_FALSE  ? 0
           : token.kind == ADP_TOKEN_NUMBER ? number_of(token) != 0
                                            : -1;
}

static bool put(adp_entry &e, int target, const adp_token &token)
{
    switch (target) {
    case TO_AT:
        e.at = number_of(token);
        return true;
    case TO_LANE:
        e.lane = count_of(token);
        return true;
    case TO_SEQ:
        e.seq = seq_of(number_of(token));
        return true;
    case TO_REQUEST_ID:
        return text_of(token, &e.request_id);
    case TO_HANDLE:
        return text_of(token, &e.handle);
    case TO_VERDICT:
        return verdict_word(e, word_of(token));
    case TO_REASON:
        return text_of(token, &e.reason);
    case TO_ENFORCED:
        e.enforced = truth_of(token) != 0;
        return true;
    case TO_ROLE:
        e.shadow = word_of(token) == "shadow";
        return true;
    case TO_FAULT:
        e.fault = !is_absent(token);
        return true;
    case TO_MARGIN:
        e.margin = number_of(token);
        return true;
    case TO_DRAW:
        e.draw = number_of(token);
        return true;
    case TO_MONO:
        e.mono_ns = count_of(token);
        return true;
    case TO_SESSION:
        return text_of(token, &e.facts.session);
    case TO_CLASS:
        return text_of(token, &e.facts.slo_class);
    case TO_MAX_OUTPUT:
        e.facts.max_output_tokens = number_of(token);
        return true;
    case TO_DEADLINE:
        e.facts.ttft_deadline_ms = number_of(token);
        return true;
    case TO_TENANT:
        return text_of(token, &e.facts.tenant);
    case TO_PRIORITY:
        e.facts.priority = number_of(token);
        return true;
    case TO_PROMPT_TOKENS:
        e.facts.prompt_tokens = number_of(token);
        return true;
    case TO_TTFT:
        e.ttft_ms = number_of(token);
        return true;
    case TO_OK:
        e.ok = truth_of(token);
        return true;
    case TO_END:
        e.end = end_word(word_of(token));
        return true;
    }
    return false;
}

/* Is the line of this shape? Then it is read. */
static bool match(adp_reader &r, learned &l, string_view line, adp_entry *ret)
{
    if (!adp_shape_match(l.shape.get(), line.data(), line.size(), r.tokens.data()))
        return false;
    adp_entry &e = *ret;
    e = l.base;
    size_t slots = adp_shape_slots(l.shape.get());
    for (size_t i = 0; i < slots; i++)
        e.not_finite += r.tokens[i].kind == ADP_TOKEN_NOT_FINITE;
    for (const learned::use &use : l.uses) {
        const adp_token &token = r.tokens[use.slot];
        if (use.target == TO_SIGNAL)
            l.signals[use.signal].value = number_of(token);
        else if (use.target == TO_CELL)
            l.cells[use.signal] = number_of(token);
        else if (!put(e, use.target, token))
            return false;
    }
    return true;
}

static bool match_any(adp_reader &r, string_view line, adp_entry *ret)
{
    learned *guess = r.last ? r.last->next : nullptr, *found = nullptr;
    if (guess && match(r, *guess, line, ret))
        found = guess;
    for (size_t i = 0; i < r.shapes.size() && !found; i++)
        if (r.shapes[i].get() != guess && match(r, *r.shapes[i], line, ret)) {
            found = r.shapes[i].get();
            std::swap(r.shapes[i], r.shapes[i / 2]);
        }
    if (!found)
        return false;
    if (r.last)
        r.last->next = found;
    r.last = found;
    r.misses = 0;
    return true;
}

static void keep(learned &l, adp_text &text)
{
    if (!text.text)
        return;
    l.words.emplace_back(text.text, text.len);
    text.text = l.words.back().data();
}

/* What the entry points to becomes the shape's own. */
static void keep_entry(learned &l, const adp_entry &entry)
{
    adp_entry &e = l.base;
    e = entry;
    e.print = adp_shape_print(l.shape.get());
    for (const auto &text : texts)
        keep(l, e.*text.to);
    keep(l, e.signal_quantity);
    keep(l, e.facts.tenant);
    keep(l, e.facts.session);
    keep(l, e.facts.slo_class);
    for (adp_text *fact :
         { &e.disclosure.model, &e.disclosure.engine, &e.disclosure.hardware,
           &e.disclosure.workload, &e.disclosure.slo })
        keep(l, *fact);
    l.signals.assign(e.signals, e.signals + e.n_signals);
    l.replicas.assign(e.replicas, e.replicas + e.n_replicas);
    for (const auto &column : l.replicas)
        l.cells.insert(l.cells.end(), column.value, column.value + column.n);
    place_columns(l.replicas, l.cells.data());
    for (auto &column : l.replicas)
        keep(l, column.name);
    l.whys.assign(e.whys, e.whys + e.n_whys);
    l.params.assign(e.params, e.params + e.n_params);
    l.gates.assign(e.gates, e.gates + e.n_gates);
    for (auto &signal : l.signals)
        keep(l, signal.name);
    for (auto &why : l.whys) {
        keep(l, why.name);
        keep(l, why.why);
    }
    for (auto &param : l.params) {
        keep(l, param.name);
        keep(l, param.word);
        keep(l, param.provenance);
    }
    for (auto &gate : l.gates) {
        keep(l, gate.signal);
        keep(l, gate.param);
    }
    e.signals = l.signals.data();
    e.replicas = l.replicas.data();
    e.whys = l.whys.data();
    e.params = l.params.data();
    e.gates = l.gates.data();
}

/* Says which slot goes where. False: a key stands twice, and only the parser knows which
 * of the two counts. */
static bool assign_slots(learned &l)
{
    bool seen[TARGETS] = {};
    uint32_t signals = 0, cells = 0,
             slots = static_cast<uint32_t>(adp_shape_slots(l.shape.get()));
    for (uint32_t i = 0; i < slots; i++) {
        int target = adp_shape_number(l.shape.get(), i);
        if (target == TO_NOTHING)
            continue;
        bool many = target == TO_SIGNAL || target == TO_CELL;
        if (seen[target] && !many)
            return false;
        seen[target] = true;
        uint32_t place = target == TO_SIGNAL ? signals++
                         : target == TO_CELL ? cells++
                                             : 0;
        l.uses.push_back({ i, place, target });
    }
    return signals == l.base.n_signals && cells == l.cells.size();
}

/* Makes room for one more: the least useful goes. */
static void forget(adp_reader &r)
{
    if (r.shapes.size() < MOST_SHAPES)
        return;
    for (auto &shape : r.shapes)
        shape->next = nullptr;
    r.shapes.pop_back();
}

/* Learns the shape of a line that the parser has read as `entry`. In a log without shapes
 * only now and then: it costs more than reading. */
static void learn(adp_reader &r, string_view line, const adp_entry &entry)
{
    r.last = nullptr;
    if (r.misses++ >= MOST_MISSES && r.misses % MOST_MISSES)
        return;
    auto l = std::make_unique<learned>();
    l->shape.reset(adp_shape_create(line.data(), line.size(), choose, nullptr));
    if (!l->shape)
        return;
    if (r.tokens.size() < ADP_SHAPE_SLOTS)
        r.tokens.resize(ADP_SHAPE_SLOTS);
    keep_entry(*l, entry);
    adp_entry again;
    l->base.not_finite = 0;
    if (!assign_slots(*l) || !match(r, *l, line, &again))
        return;
    l->base.not_finite = entry.not_finite - again.not_finite;
    forget(r);
    r.shapes.push_back(std::move(l));
}

extern "C" int adp_reader_line(adp_reader *reader, const char *line, size_t len,
                               adp_entry *ret, adp_corrupt *ret_corrupt)
try {
    element root;
    uint32_t not_finite = 0;
    adp_entry entry;
    if (match_any(*reader, string_view(line, len), &entry)) {
        *ret = entry;
        return 1;
    }
    int read = parse(*reader, string_view(line, len), &root, &not_finite, ret_corrupt);
    if (read <= 0)
        return read;
    simdjson::dom::object object;
    if (root.get(object)) {
        *ret_corrupt = ADP_CORRUPT_NOT_OBJECT;
        return 0;
    }
    if (!fill(*reader, entry, object)) {
        *ret_corrupt = ADP_CORRUPT_UNKNOWN;
        return 0;
    }
    entry.not_finite = not_finite;
    learn(*reader, string_view(line, len), entry);
    *ret = entry;
    return 1;
} catch (const std::bad_alloc &) {
    return ADP_ENOMEM;
}
