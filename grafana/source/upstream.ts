import { GOOD_OUTCOMES } from '../../src/upstream/breaker/breaker-signal.ts'
import { quantiles, stat, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const UPSTREAM: Dashboard = {
  uid: 'farewatch-upstream',
  title: 'Upstream and budget',
  question: 'Does it answer, and is what we may ask well spent?',
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
              'The share of the calls in the time shown; that a list is the same, or an id gone, is an answer. Good is above 99 %.',
            unit: 'percentunit',
            limits: [0.9, 0.99],
            smallIsBad: true,
            runbook: 'UpstreamErrors',
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
            title: 'Breakers',
            about: '1 while calls are kept back, but for probes. Good is 0 of all.',
            unit: 'short',
            limits: [1, 1],
            runbook: 'UpstreamAuthFailing',
          },
        ),
        stat('max(farewatch_upstream_budget_ratio)', {
          title: 'What may be spent of the budget',
          about:
            'Good is 100 %. A 429 takes three tenths, of which one per cent comes back each second; during a pause it is 0.',
          unit: 'percentunit',
          limits: [0.5, 0.8],
          smallIsBad: true,
          runbook: 'BudgetThrottled',
        }),
        stat('clamp_min(max(farewatch_upstream_paused_until_timestamp_seconds) - time(), 0)', {
          title: 'Pause still to run',
          about: 'For as long the upstream asked us to wait. Good is 0.',
          unit: 's',
          limits: [1, 120],
          runbook: 'UpstreamPaused',
        }),
        stat('max(farewatch_checks_turn_seconds)', {
          title: 'One turn of all fares',
          about:
            'How long it takes at the budget, which is the interval of a fare that nobody asks for more often. Good is what resellers were promised.',
          unit: 's',
          runbook: 'BeliefsStale',
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
            title: 'Calls by outcome',
            about: 'A second. Good is ok alone, with single others.',
            unit: 'reqps',
            stacked: true,
            runbook: 'UpstreamErrors',
          },
        ),
        timeseries(
          quantiles(
            'farewatch_upstream_request_duration_seconds',
            ['endpoint'],
            '{endpoint=~"$endpoint"}',
          ),
          {
            title: 'Duration of calls',
            about: 'Good is a flat line, below a second for verify.',
            unit: 's',
            runbook: 'UpstreamErrors',
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
            title: 'Refusals and second calls',
            about: 'A minute. Good is 0 of 429, and second calls that mend.',
            unit: 'cpm',
            runbook: 'BudgetThrottled',
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
            title: 'What the budget is spent on',
            about:
              'Slots a second. Good is mostly turns; all lanes together take two fifths at most. Many retries tell of an upstream that fails.',
            unit: 'reqps',
            stacked: true,
            runbook: 'UpstreamErrors',
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
            title: 'Fares that wait for a slot',
            about:
              'Good is few in the lanes. Those that wait for their turn are always some: the budget is what limits.',
            unit: 'short',
            runbook: 'BeliefsStale',
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
            about: 'Good is seconds in the lane of confirmations, and near one turn for turns.',
            unit: 's',
            runbook: 'BeliefsStale',
          },
        ),
        timeseries(
          [
            {
              expr: 'topk(10, sum by (endpoint, oddity) (increase(farewatch_upstream_contract_oddities_total{endpoint=~"$endpoint"}[1h])))',
              legend: '{{endpoint}} {{oddity}}',
            },
          ],
          {
            title: 'Beside the contract',
            about:
              'In an hour; docs/reference/upstream.md tells each. Good is what it always was: a new one tells of a new version of the upstream.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
