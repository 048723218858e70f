// SPDX-License-Identifier: MIT
// The yardstick of bench_report.bash: DuckDB on one thread computes from the same file what the
// report's ranges are (min, p50, p95, max, n of five signals), the requests by verdict and
// reason, and TTFT and goodput of the outcomes joined to their decisions. Prints nothing but
// the number of decisions: what counts is the time.
const { DuckDBInstance } = require('@duckdb/node-api');

const signals = ['kv_pressure', 'queue_depth', 'running', 'gpu_util', 'prefix_hit_rate'];
const ranges = signals
    .map((s) => `min(signals.${s}), quantile_disc(signals.${s}, [0.5, 0.95]), max(signals.${s}), count(signals.${s})`)
    .join(', ');

async function main() {
    const db = await DuckDBInstance.create(':memory:', { threads: '1' });
    const sql = await db.connect();
    await sql.run(`create temp table log as select * from read_json('${process.argv[2]}',
        format = 'newline_delimited', maximum_object_size = 1048576, columns = {
            "at": 'DOUBLE', request_id: 'VARCHAR', verdict: 'VARCHAR', reason: 'VARCHAR',
            enforced: 'BOOLEAN', fault: 'VARCHAR',
            signals: 'STRUCT(${signals.map((s) => `${s} DOUBLE`).join(', ')})',
            outcome: 'STRUCT(ttft_ms DOUBLE, ok BOOLEAN)' })`);
    await sql.run(`select ${ranges} from log where verdict is not null`);
    await sql.run(`select verdict, reason, count(distinct request_id) from log
        where verdict is not null group by all`);
    const found = await sql.runAndReadAll(`select count(distinct d.request_id),
        quantile_disc(o.outcome.ttft_ms, [0.5, 0.95]), count_if(o.outcome.ok)
        from (select request_id from log where verdict = 'admit') d
        join (select request_id, outcome from log where outcome is not null) o using (request_id)`);
    if (!found.currentRowCount)
        process.exit(1);
}

main().catch((e) => { console.error(e.message); process.exit(1); });
