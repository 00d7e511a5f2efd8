import { quantiles, stat, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const QUEUE: Dashboard = {
  uid: 'farewatch-queue',
  title: 'Queue and processes',
  question: 'Do all processes work, and on what?',
  variables: [
    {
      name: 'queue',
      label: 'Queue',
      query: 'label_values(farewatch_queue_depth, queue)',
      from: 'prometheus',
    },
    {
      name: 'instance',
      label: 'Process',
      query: 'label_values(farewatch_build_info, instance)',
      from: 'prometheus',
    },
  ],
  rows: [
    {
      height: 5,
      panels: [
        stat(
          [
            {
              expr: 'count by (role, version) (farewatch_build_info)',
              legend: '{{role}} {{version}}',
            },
          ],
          {
            title: 'Processes',
            about:
              'By role and version. Healthy: as many as were started, and one version after a deploy.',
            unit: 'short',
            runbook: 'work_stopped',
          },
        ),
        stat('count(farewatch_routes_live) or vector(0)', {
          title: 'Processes with system gauges',
          about:
            'Processes that can read the gauges of the whole system. Healthy: all of them. At 0 most alerts cannot fire.',
          unit: 'short',
          limits: [1, 1],
          smallIsBad: true,
          runbook: 'gauges_missing',
        }),
        stat(
          [
            {
              expr: 'max by (queue) (farewatch_queue_depth{state="dead", queue=~"$queue"})',
              legend: '{{queue}}',
            },
          ],
          {
            title: 'Dead jobs',
            about:
              'Jobs without attempts left. Healthy: 0. Dead checks are harmless: later checks replace them.',
            unit: 'short',
            limits: [1, 10],
            runbook: 'jobs_dead',
          },
        ),
        stat('min(farewatch_db_up{instance=~"$instance"})', {
          title: 'Database',
          about:
            'The smallest value over all processes. Healthy: 1, the database answers every process.',
          unit: 'short',
          limits: [1, 1],
          smallIsBad: true,
          runbook: 'database_trouble',
        }),
        stat(
          [
            {
              expr: 'max by (store) (abs(farewatch_clock_skew_seconds{instance=~"$instance"}))',
              legend: '{{store}}',
            },
          ],
          {
            title: 'Clock skew',
            about:
              'The largest difference between the clocks of a process and a store. Healthy: below 0.1 s. Above 30 s workers lose their jobs.',
            unit: 's',
            limits: [2, 10],
            runbook: 'clock_wrong',
          },
        ),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'max by (queue, state) (farewatch_queue_depth{queue=~"$queue", state!="dead"})',
              legend: '{{queue}} {{state}}',
            },
          ],
          {
            title: 'Jobs in the queues',
            about: 'Healthy: nearly none wait. Delayed jobs are retries and snoozed syncs.',
            unit: 'short',
            runbook: 'work_stopped',
          },
        ),
        timeseries(quantiles('farewatch_queue_wait_seconds', ['queue'], '{queue=~"$queue"}'), {
          title: 'Waiting time of jobs',
          about: 'Time from the due time of a job to its first attempt. Healthy: below 1 s.',
          unit: 's',
          limits: [1, 10],
          runbook: 'work_stopped',
        }),
        timeseries(
          quantiles('farewatch_queue_job_duration_seconds', ['queue'], '{queue=~"$queue"}'),
          {
            title: 'Duration of jobs',
            about: 'Healthy: some seconds for a batch of checks, up to a minute for a sync.',
            unit: 's',
          },
        ),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (queue, outcome) (rate(farewatch_queue_jobs_total{queue=~"$queue"}[$__rate_interval]))',
              legend: '{{queue}} {{outcome}}',
            },
          ],
          {
            title: 'Finished attempts',
            about:
              'Attempts at jobs per second, by outcome. Healthy: only done. snoozed is a sync that is snoozed while the upstream is paused.',
            unit: 'reqps',
            runbook: 'jobs_dead',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (queue) (increase(farewatch_queue_stalled_total{queue=~"$queue"}[5m]))',
              legend: '{{queue}}',
            },
          ],
          {
            title: 'Stalled jobs',
            about:
              'Jobs in five minutes whose worker died. Healthy: 0, except after a process was killed.',
            unit: 'short',
            runbook: 'work_stopped',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (operation, status) (rate(farewatch_api_requests_total{instance=~"$instance"}[$__rate_interval]))',
              legend: '{{operation}} {{status}}',
            },
          ],
          {
            title: 'API requests',
            about: 'Requests per second, by status. Healthy: few 429 and no 5xx.',
            unit: 'reqps',
            stacked: true,
            runbook: 'database_trouble',
          },
        ),
        timeseries(
          quantiles('farewatch_api_request_duration_seconds', [], '{instance=~"$instance"}'),
          {
            title: 'Duration of API requests',
            about:
              'Time to the last byte. Healthy: tens of milliseconds. Streams and complete lists take as long as their readers.',
            unit: 's',
          },
        ),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (outcome) (rate(farewatch_webhook_deliveries_total{instance=~"$instance"}[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
          {
            title: 'Results of deliveries',
            about:
              'Results per second. Healthy: nearly all delivered. One endpoint that fails causes few: its circuit breaker opens.',
            unit: 'reqps',
            runbook: 'deliveries_late',
          },
        ),
        timeseries(quantiles('farewatch_webhook_lag_seconds', [], '{instance=~"$instance"}'), {
          title: 'Lag of webhooks',
          about: 'Time from a record to the answer 2xx. Healthy: below 0.25 s, except for retries.',
          unit: 's',
          limits: [1, 60],
          runbook: 'deliveries_late',
        }),
        timeseries(
          [
            { expr: 'max(farewatch_webhook_pending)', legend: 'pending' },
            { expr: 'max(farewatch_webhook_dead)', legend: 'dead' },
            {
              expr: 'max by (reason) (farewatch_webhook_endpoints_disabled)',
              legend: 'endpoints {{reason}}',
            },
            { expr: 'max(farewatch_webhook_died_last_hour)', legend: 'died in an hour' },
            {
              expr: 'max(farewatch_webhook_endpoints_failing_long)',
              legend: 'endpoints failing for hours',
            },
          ],
          {
            title: 'Deliveries that wait, dead ones, and endpoints that receive nothing',
            about:
              'Healthy: nearly none wait. Deliveries to an endpoint that fails wait for days before they are dead.',
            unit: 'short',
            runbook: 'endpoints_failing_for_hours',
          },
        ),
        timeseries(
          [
            {
              expr: 'time() - max by (endpoints) (farewatch_webhook_oldest_pending_timestamp_seconds > 0)',
              legend: '{{endpoints}}',
            },
          ],
          {
            title: 'Longest wait of a delivery',
            about:
              'Since the delivery is due, by the condition of its endpoint: busy ones answer slowly. Healthy: below a second for healthy endpoints.',
            unit: 's',
            runbook: 'deliveries_late',
          },
        ),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (instance, stream) (farewatch_stream_open{instance=~"$instance"})',
              legend: '{{instance}} {{stream}}',
            },
          ],
          {
            title: 'Open event streams',
            about:
              'Streams of resellers (watch_changes) and of operators (changes). Healthy: as many as there are clients. Below 1,000 a process they fit into 300 MB.',
            unit: 'short',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (stream, reason) (increase(farewatch_stream_ended_total{instance=~"$instance"}[5m]))',
              legend: '{{stream}} {{reason}}',
            },
          ],
          {
            title: 'Ended event streams',
            about:
              'In five minutes, by reason. Healthy: client, and shutdown at a deploy. slow is a client that reads too slowly, failed an error of ours.',
            unit: 'short',
            runbook: 'streams_failing',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (stream) (rate(farewatch_stream_events_total{instance=~"$instance"}[$__rate_interval]))',
              legend: '{{stream}}',
            },
          ],
          {
            title: 'Events of streams',
            about:
              'Events per second over all streams. Healthy: the records of each feed times the clients that follow it.',
            unit: 'reqps',
          },
        ),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'nodejs_eventloop_lag_p99_seconds{instance=~"$instance"}',
              legend: '{{instance}}',
            },
          ],
          {
            title: 'Event loop lag',
            about:
              'The 99th percentile between two scrapes. Healthy: below 50 ms. With a much larger lag workers lose the locks of their jobs.',
            unit: 's',
            limits: [0.1, 1],
            runbook: 'work_stopped',
          },
        ),
        timeseries(
          [
            {
              expr: 'process_resident_memory_bytes{instance=~"$instance"}',
              legend: '{{instance}}',
            },
          ],
          {
            title: 'Memory',
            about: 'Resident memory. Healthy: it returns to the same level after each sync.',
            unit: 'bytes',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (instance, state) (farewatch_db_pool_connections{instance=~"$instance"})',
              legend: '{{instance}} {{state}}',
            },
            {
              expr: 'farewatch_db_pool_waiting{instance=~"$instance"}',
              legend: '{{instance}} waiting',
            },
          ],
          {
            title: 'Database connections',
            about:
              'Healthy: no query waits, and fewer connections are busy than the pool may open (farewatch_db_pool_max_connections).',
            unit: 'short',
            runbook: 'database_trouble',
          },
        ),
        timeseries(
          [
            {
              expr: 'farewatch_db_ping_seconds{instance=~"$instance"}',
              legend: '{{instance}}',
            },
          ],
          {
            title: 'Database latency',
            about:
              'Time of the smallest query, including the wait for a connection. Healthy: milliseconds.',
            unit: 's',
            limits: [0.1, 1],
            runbook: 'database_trouble',
          },
        ),
      ],
    },
  ],
}
