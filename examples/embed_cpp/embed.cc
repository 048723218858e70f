// SPDX-License-Identifier: MIT
// embed, in C++: publishes one page of metrics, asks for each request id given, and says what
// the gateway would answer. The same as examples/embed/embed.c, with owners for what is opened.
//
//     embed CONFIG PAGE ID...
#include <admitperf/runtime.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

namespace
{

[[noreturn]] void fail(const adp_error &err)
{
    char text[1024];
    adp_error_print(&err, text, sizeof text);
    throw std::runtime_error(text);
}

struct close_runtime {
    void operator()(adp_runtime *rt) const
    {
        adp_runtime_close(rt, nullptr);
    }
};
struct close_lane {
    void operator()(adp_lane *lane) const
    {
        adp_lane_close(lane);
    }
};
using runtime = std::unique_ptr<adp_runtime, close_runtime>;
using lane =
    std::unique_ptr<adp_lane, close_lane>; // declared after its runtime: closed before

runtime open(const char *config)
{
    adp_errors errors {};
    adp_runtime *rt = nullptr;
    std::string said;
    char text[1024];
    int code = adp_runtime_open(&rt, config, &errors);
    for (uint32_t i = 0; i < errors.n; i++) { // mistakes, or, when it opened, notes
        adp_error_print(&errors.list[i], text, sizeof text);
        said += std::string(said.empty() ? "" : "\n") + text;
    }
    adp_errors_free(&errors);
    if (code < 0)
        throw std::runtime_error(said);
    if (!said.empty())
        std::cerr << "embed: " << said << '\n';
    return runtime(rt);
}

lane start(adp_runtime *rt)
{
    adp_error err {};
    adp_lane *opened = nullptr;
    if (adp_runtime_start(rt, &err) < 0 || adp_lane_open(&opened, rt, &err) < 0)
        fail(err);
    return lane(opened);
}

void ask(adp_lane *to, const char *id)
{
    adp_facts facts {};
    adp_decision d {};
    facts.size = sizeof facts;
    facts.request_id = id;
    adp_lane_decide(to, &facts, &d);
    std::cout << id << ": " << d.status << ' ' << (d.admitted ? "admitted" : d.reason)
              << '\n';
    if (!d.admitted)
        return;
    adp_result done {}; // ... forward it, and when its first token has come:
    done.size = sizeof done;
    done.end = ADP_DONE;
    done.present = ADP_O_TTFT;
    done.ok = 1;
    done.ttft_ms = 180;
    adp_lane_outcome(to, d.id, nullptr, &done);
}

void run(int argc, char **argv)
{
    runtime rt = open(argv[1]);
    lane of_this_thread = start(rt.get());
    std::ifstream file(argv[2]);
    if (!file) // not the same as a page without metrics
        throw std::runtime_error(std::string(argv[2]) + ": cannot be read");
    std::string page { std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>() };
    adp_error err {};
    if (adp_runtime_publish_text(rt.get(), page.data(), page.size(), &err) < 0)
        fail(err);
    for (int i = 3; i < argc; i++)
        ask(of_this_thread.get(), argv[i]);
    of_this_thread.reset();
    if (adp_runtime_close(rt.release(), &err) < 0) // here its answer is asked for
        fail(err);
}

} // namespace

int main(int argc, char **argv)
try {
    if (argc < 3) {
        std::cerr << "usage: embed CONFIG PAGE ID...\n";
        return 2;
    }
    run(argc, argv);
    return 0;
} catch (const std::exception &e) {
    std::cerr << "embed: " << e.what() << '\n';
    return 1;
}
