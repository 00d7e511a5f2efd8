import { GOOD_OUTCOMES } from '../../src/upstream/upstream-errors.ts'
import { quantiles, stat, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const UPSTREAM: Dashboard = {
  uid: 'farewatch-upstream',
  title: 'Upstream and budget',
  question: 'Does the upstream answer, and how is the budget used?',
  variables: [
    {
      name: 'endpoint',
      label: 'Endpoint',
      query: 'label_values(farewatch_upstream_requests_total, endpoint)',
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
              expr: `sum by (endpoint) (increase(farewatch_upstream_requests_total{endpoint=~"$endpoint", outcome=~"${GOOD_OUTCOMES.join('|')}"}[$__range]))
  / (sum by (endpoint) (increase(farewatch_upstream_requests_total{endpoint=~"$endpoint"}[$__range])) > 0)`,
              legend: '{{endpoint}}',
            },
          ],
          {
            title: 'Good answers',
            about:
              'The share of requests in the time range that got an answer. An unchanged list and an unknown flight id are answers. Healthy: above 99 %.',
            unit: 'percentunit',
            limits: [0.9, 0.99],
            smallIsBad: true,
            runbook: 'calls_failing',
          },
        ),
        stat(
          [
            {
              expr: 'max by (endpoint, breaker) (farewatch_upstream_breaker_open)',
              legend: '{{endpoint}} {{breaker}}',
            },
          ],
          {
            title: 'Circuit breakers',
            about: '1 while requests are blocked, except probes. Healthy: 0.',
            unit: 'short',
            limits: [1, 1],
            runbook: 'credential_refused',
          },
        ),
        stat('max(farewatch_upstream_budget_ratio)', {
          title: 'Usable part of the budget',
          about:
            'Healthy: 100 %. A 429 lowers it by three tenths, and it recovers by 1 % each second. During a pause it is 0.',
          unit: 'percentunit',
          limits: [0.5, 0.8],
          smallIsBad: true,
          runbook: 'budget_limited',
        }),
        stat('clamp_min(max(farewatch_upstream_paused_until_timestamp_seconds) - time(), 0)', {
          title: 'Remaining pause',
          about: 'How long the upstream has asked us to wait. Healthy: 0.',
          unit: 's',
          limits: [1, 120],
          runbook: 'upstream_paused',
        }),
        stat('max(farewatch_max_delays_unkept)', {
          title: 'Resellers with unkept delays',
          about: 'Resellers whose longest delays are not kept. Healthy: 0.',
          unit: 'short',
          limits: [1, 1],
          runbook: 'max_delays_unkept',
        }),
        stat('max(farewatch_checks_round_seconds)', {
          title: 'Expected interval of a fare',
          about:
            'The time that one check of every fare takes at the present budget. Healthy: below an hour, and not longer than resellers were promised.',
          unit: 's',
          limits: [1_800, 3_600],
          runbook: 'budget_too_small',
        }),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (endpoint, outcome) (rate(farewatch_upstream_requests_total{endpoint=~"$endpoint"}[$__rate_interval]))',
              legend: '{{endpoint}} {{outcome}}',
            },
          ],
          {
            title: 'Requests by outcome',
            about: 'Requests per second. Healthy: nearly all are ok.',
            unit: 'reqps',
            stacked: true,
            runbook: 'calls_failing',
          },
        ),
        timeseries(
          quantiles(
            'farewatch_upstream_request_duration_seconds',
            ['endpoint'],
            '{endpoint=~"$endpoint"}',
          ),
          {
            title: 'Duration of requests',
            about: 'Healthy: a flat line, below 1 s for verify.',
            unit: 's',
            runbook: 'calls_failing',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (endpoint) (rate(farewatch_upstream_rate_limited_total{endpoint=~"$endpoint"}[$__rate_interval])) * 60',
              legend: '429 {{endpoint}}',
            },
            {
              expr: 'sum by (outcome) (rate(farewatch_upstream_quick_retries_total{endpoint=~"$endpoint"}[$__rate_interval])) * 60',
              legend: 'second call {{outcome}}',
            },
          ],
          {
            title: '429 responses and quick retries',
            about: 'Per minute. Healthy: no 429, and quick retries that end as recovered.',
            unit: 'cpm',
            runbook: 'budget_limited',
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
              expr: 'sum by (lane) (rate(farewatch_budget_slots_total[$__rate_interval]))',
              legend: '{{lane}}',
            },
          ],
          {
            title: 'Use of the budget',
            about:
              'Slots per second, by lane. Healthy: mostly scheduled checks. The other lanes together take at most two fifths. Many retries mean that the upstream fails.',
            unit: 'reqps',
            stacked: true,
            runbook: 'calls_failing',
          },
        ),
        timeseries(
          [
            {
              expr: 'max by (lane) (farewatch_checks_due)',
              legend: '{{lane}}',
            },
          ],
          {
            title: 'Fares waiting for a slot',
            about:
              'Healthy: few in all lanes except scheduled. Some scheduled checks always wait, because the budget limits them.',
            unit: 'short',
            runbook: 'fares_stale',
          },
        ),
        timeseries(
          [
            {
              expr: 'clamp_min(time() - (max by (lane) (farewatch_checks_oldest_due_timestamp_seconds) > 0), 0)',
              legend: '{{lane}}',
            },
          ],
          {
            title: 'Longest wait for a slot',
            about:
              'Healthy: seconds for confirmation, and near the expected interval for scheduled.',
            unit: 's',
            runbook: 'fares_stale',
          },
        ),
        timeseries(
          [
            {
              expr: 'topk(10, sum by (endpoint, anomaly) (increase(farewatch_upstream_anomalies_total{endpoint=~"$endpoint"}[1h])))',
              legend: '{{endpoint}} {{anomaly}}',
            },
          ],
          {
            title: 'Anomalies of answers',
            about:
              'In an hour; docs/reference/upstream.md describes each. Healthy: a constant level. A new anomaly indicates a new version of the upstream.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
