import { STALE_SECONDS } from '../../src/schedule/due.ts'
import { stat, table, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const OVERVIEW: Dashboard = {
  uid: 'farewatch-overview',
  title: 'Overview',
  question: 'Is the data for resellers fresh and correct?',
  rows: [
    {
      height: 5,
      panels: [
        // A recording rule stands in for "no alert": it has no value where the rules are not loaded or nothing runs.
        stat(
          'count(ALERTS{alertstate="firing", job="farewatch"}) or 0 * sum(farewatch:processes:count)',
          {
            title: 'Firing alerts',
            about: 'Healthy: 0. Every alert has a link to its runbook.',
            unit: 'short',
            limits: [1, 2],
            runbook: 'all',
          },
        ),
        stat(
          [
            {
              expr: '(time() - max by (list) (farewatch_sync_last_success_timestamp_seconds)) / max by (list) (farewatch_sync_interval_seconds)',
              legend: '{{list}}',
            },
          ],
          {
            title: 'Age of the route lists, in intervals',
            about:
              'Time since the last accepted list, divided by the interval of its schedule. Healthy: about 1 or less. list_failing is WRONG after two and a half intervals.',
            unit: 'short',
            limits: [1.25, 2.5],
            runbook: 'list_failing',
          },
        ),
        // Without any belief there is no ratio, but a count of 0.
        stat('max(farewatch:beliefs_stale:ratio or farewatch:beliefs_stale:count)', {
          title: 'Stale beliefs',
          about:
            'The share of fares that the API shows as unknown (stale). Healthy: 0 or nearly 0. Flight ids that the upstream no longer knows stay stale until they expire.',
          unit: 'percentunit',
          limits: [0.02, 0.1],
          runbook: 'fares_stale',
        }),
        stat(
          [
            {
              expr: `(time() - (max by (share) (farewatch_beliefs_good_since_timestamp_seconds{share!="1"}) > 0))
  / on () group_left clamp_min(6 * max(farewatch_checks_round_seconds), ${STALE_SECONDS})`,
              legend: '{{share}} of the fares',
            },
          ],
          {
            title: 'Age of the beliefs, until stale',
            about:
              'Half and 95 % of the fares had a good check within this part of the time after which a belief is stale: ten minutes, or six expected intervals if that is longer. Healthy: below 50 %.',
            unit: 'percentunit',
            limits: [0.5, 1],
            runbook: 'fares_stale',
          },
        ),
        stat('sum(max by (list) (farewatch_sync_held_runs))', {
          title: 'Lists held for review',
          about:
            'Healthy: 0. A held list changes nothing until an operator decides or later lists resolve it.',
          unit: 'short',
          limits: [1, 3],
          runbook: 'list_held',
        }),
        stat([{ expr: 'max by (kind) (farewatch_incidents_open)', legend: '{{kind}}' }], {
          title: 'Open incidents',
          about:
            'By kind. Healthy: 0 of each kind. While an incident is open, changes of its kind wait.',
          unit: 'short',
          limits: [1, 2],
          runbook: 'mass',
        }),
      ],
    },
    {
      height: 5,
      panels: [
        stat('sum(up{job="farewatch"}) / count(up{job="farewatch"}) or vector(0)', {
          title: 'Targets up',
          about: 'The share of the targets that answer scrapes. Healthy: 100 %.',
          unit: 'percentunit',
          limits: [0.5, 1],
          smallIsBad: true,
          runbook: 'process_silent',
        }),
        stat(
          `1 - (sum(rate(farewatch_api_requests_total{status=~"5..", code!="verify.unknown"}[$__rate_interval])) or 0 * sum(farewatch:processes:count))
  / (sum(rate(farewatch_api_requests_total{status!~"4..", code!="verify.unknown"}[$__rate_interval])) > 0)`,
          {
            title: 'API success',
            about:
              'The share of API requests that did not fail with a 5xx status. Refused requests (4xx) and fares that the upstream did not answer do not count. Healthy: above 99 %. No value without requests.',
            unit: 'percentunit',
            limits: [0.95, 0.99],
            smallIsBad: true,
            runbook: 'api_errors',
          },
        ),
        stat(
          'histogram_quantile(0.95, sum by (le) (rate(farewatch_api_request_duration_seconds_bucket{operation!~"listWatchChanges|verifyFares|listRoutes|listAvailableRoutes|exportRoutesCsv|readWatchListState|readWatchState|saveWatches"}[$__rate_interval])))',
          {
            title: 'API p95',
            about:
              'Duration of API requests, without those that wait on purpose, complete lists and imports. Healthy: tens of milliseconds.',
            unit: 's',
            limits: [0.5, 1],
            runbook: 'api_slow',
          },
        ),
        stat('max(farewatch_db_size_bytes)', {
          title: 'Database size',
          about: 'Healthy: it grows with what changes, not with what is checked.',
          unit: 'bytes',
          runbook: 'disk_filling',
        }),
        stat('min(farewatch:db_disk_free:ratio)', {
          title: 'Free disk',
          about:
            'Of the disk of the database. Healthy: above 20 %. No value if PostgreSQL runs on another machine or in a container of its own.',
          unit: 'percentunit',
          limits: [0.1, 0.2],
          smallIsBad: true,
          runbook: 'disk_filling',
        }),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (outcome) (rate(farewatch_observations_total[$__rate_interval]))',
              legend: '{{outcome}}',
            },
          ],
          {
            title: 'Observations',
            about: 'Legs per second, by outcome. Healthy: a small share is unknown.',
            unit: 'reqps',
            stacked: true,
            runbook: 'calls_failing',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum(rate(farewatch_budget_slots_total[$__rate_interval]))',
              legend: 'spent',
            },
            { expr: 'max(farewatch_budget_requests_per_second)', legend: 'budget' },
          ],
          {
            title: 'Budget',
            about:
              'Requests per second, never above the budget. Healthy: close to the budget while fares are due; lower only if all fares are inside their minimum interval.',
            unit: 'reqps',
            runbook: 'budget_limited',
          },
        ),
        timeseries(
          [
            {
              expr: 'time() - max by (queue) (farewatch_queue_last_activity_timestamp_seconds)',
              legend: '{{queue}}',
            },
          ],
          {
            title: 'Time since a worker polled',
            about: 'The most recent poll of any worker, by queue. Healthy: a few seconds.',
            unit: 's',
            limits: [30, 120],
            runbook: 'work_stopped',
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
              expr: 'sum by (kind, reason) (increase(farewatch_availability_changes_total[5m]))',
              legend: '{{kind}} {{reason}}',
            },
          ],
          {
            title: 'Changes of fares',
            about:
              'Changes recorded in five minutes. Healthy: a steady mixture, without a jump of became_unavailable.',
            unit: 'short',
            stacked: true,
            runbook: 'mass',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (kind) (increase(farewatch_route_changes_total[1h]))',
              legend: '{{kind}}',
            },
          ],
          {
            title: 'Changes of routes',
            about: 'Changes applied in an hour. Healthy: few, after the due times of the schedule.',
            unit: 'short',
            stacked: true,
            runbook: 'list_held',
          },
        ),
        table(
          `select recorded_at, kind, f.flight_id, f.return_flight_id
  from farewatch.availability_changes c
  join farewatch.fares_current f using (fare_id)
 where $__timeFilter(c.recorded_at)
 order by c.seq desc
 limit 20`,
          {
            title: 'Latest changes of fares',
            about: 'The latest records, newest first. Healthy: they match what the upstream sells.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
