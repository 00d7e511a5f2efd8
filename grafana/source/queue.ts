import { quantiles, stat, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const QUEUE: Dashboard = {
  uid: 'farewatch-queue',
  title: 'Queue and processes',
  question: 'Does everybody work, and on what?',
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
              'By role and version. Good is as many as were started, and one version once a deploy is over.',
            unit: 'short',
            runbook: 'WorkerNotPolling',
          },
        ),
        stat('sum(farewatch_leader)', {
          title: 'Shows the whole system',
          about: 'Good is 1: exactly one process shows the gauges of the whole system.',
          unit: 'short',
          limits: [1, 1],
          smallIsBad: true,
          runbook: 'NoSystemGauges',
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
              'Good is 0. Those of checks are made good by the next ones. Failed ticks are not counted.',
            unit: 'short',
            limits: [1, 10],
            runbook: 'DeadJobs',
          },
        ),
        stat('min(farewatch_db_up{instance=~"$instance"})', {
          title: 'Database',
          about: 'Good is 1: it answers every process.',
          unit: 'short',
          limits: [1, 1],
          smallIsBad: true,
          runbook: 'DatabaseTrouble',
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
              'Between a process and its stores, the largest. Good is below a tenth of a second; jobs are lost above 30.',
            unit: 's',
            limits: [2, 10],
            runbook: 'WorkerNotPolling',
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
            about:
              'Good is near 0 that wait. Delayed are ticks to come, and attempts after a failure.',
            unit: 'short',
            runbook: 'WorkerNotPolling',
          },
        ),
        timeseries(quantiles('farewatch_queue_wait_seconds', ['queue'], '{queue=~"$queue"}'), {
          title: 'Wait of a job',
          about: 'Until its first attempt. Good is below a second.',
          unit: 's',
          limits: [1, 10],
          runbook: 'WorkerNotPolling',
        }),
        timeseries(
          quantiles('farewatch_queue_job_duration_seconds', ['queue'], '{queue=~"$queue"}'),
          {
            title: 'Duration of a job',
            about:
              'Good is milliseconds for ticks, some seconds for a batch of checks, up to a minute for a sync.',
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
            title: 'Jobs that ended',
            about:
              'Attempts a second. Good is done alone; put off are lists that the upstream does not want to give now.',
            unit: 'reqps',
            runbook: 'DeadJobs',
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
            title: 'Jobs that lost their worker',
            about: 'In five minutes. Good is 0 but for a process that was killed.',
            unit: 'short',
            runbook: 'WorkerNotPolling',
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
            title: 'Requests to the API',
            about: 'A second. Good is few that are 429, and no 5xx.',
            unit: 'reqps',
            stacked: true,
            runbook: 'DatabaseTrouble',
          },
        ),
        timeseries(
          quantiles('farewatch_api_request_duration_seconds', [], '{instance=~"$instance"}'),
          {
            title: 'Duration of requests to the API',
            about:
              'Until the last byte. Good is tens of milliseconds; streams and whole lists take as long as their readers.',
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
              expr: 'nodejs_eventloop_lag_p99_seconds{instance=~"$instance"}',
              legend: '{{instance}}',
            },
          ],
          {
            title: 'Lag of the event loop',
            about:
              'The 99th percentile between two scrapes. Good is below 50 ms: far above, locks of jobs are lost.',
            unit: 's',
            limits: [0.1, 1],
            runbook: 'WorkerNotPolling',
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
            about: 'Resident. Good is a level that returns after each sync.',
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
            title: 'Connections to the database',
            about:
              'Good is nobody waiting, and fewer busy than the pool has (farewatch_db_pool_max_connections).',
            unit: 'short',
            runbook: 'DatabaseTrouble',
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
            title: 'Answer of the database',
            about:
              'To the smallest question, the wait for a connection included. Good is milliseconds.',
            unit: 's',
            limits: [0.1, 1],
            runbook: 'DatabaseTrouble',
          },
        ),
      ],
    },
  ],
}
