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
        stat('count(ALERTS{alertstate="firing"}) or vector(0)', {
          title: 'Firing alerts',
          about: 'Healthy: 0. Every alert has a link to its runbook.',
          unit: 'short',
          limits: [1, 2],
          runbook: 'all',
        }),
        stat(
          [
            {
              expr: 'time() - max by (list) (farewatch_sync_last_success_timestamp_seconds)',
              legend: '{{list}}',
            },
          ],
          {
            title: 'Age of the route lists',
            about:
              'Time since the last accepted list. Healthy: below the interval of its schedule, two hours by default. RouteSyncStale fires after two and a half intervals.',
            unit: 's',
            limits: [9_000, 18_000],
            runbook: 'RouteSyncStale',
          },
        ),
        stat('farewatch:beliefs_stale:ratio or vector(0)', {
          title: 'Stale beliefs',
          about:
            'The share of fares that the API shows as unknown (stale). Healthy: 0 or nearly 0. Flight ids that the upstream no longer knows stay stale until they expire.',
          unit: 'percentunit',
          limits: [0.02, 0.1],
          runbook: 'BeliefsStale',
        }),
        stat(
          [
            {
              expr: 'time() - (max by (share) (farewatch_beliefs_good_since_timestamp_seconds{share!="1"}) > 0)',
              legend: '{{share}} of the fares',
            },
          ],
          {
            title: 'Age of the beliefs',
            about:
              'Half and 95 % of the fares had a good check within this time. Healthy: near the expected interval of a fare.',
            unit: 's',
            limits: [1_800, 3_600],
            runbook: 'BeliefsStale',
          },
        ),
        stat('sum(max by (list) (farewatch_sync_held_runs))', {
          title: 'Lists held for review',
          about:
            'Healthy: 0. A held list changes nothing until an operator decides or later lists resolve it.',
          unit: 'short',
          limits: [1, 3],
          runbook: 'RouteSyncHeld',
        }),
        stat([{ expr: 'max by (kind) (farewatch_incidents_open)', legend: '{{kind}}' }], {
          title: 'Open incidents',
          about:
            'By kind. Healthy: 0 of each kind. While an incident is open, losses are held; upstream_trouble also slows checks down.',
          unit: 'short',
          limits: [1, 2],
          runbook: 'MassLossIncident',
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
            runbook: 'UpstreamErrors',
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
            runbook: 'BudgetThrottled',
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
              expr: 'sum by (kind) (increase(farewatch_availability_changes_total[5m]))',
              legend: '{{kind}}',
            },
          ],
          {
            title: 'Changes of fares',
            about:
              'Changes recorded in five minutes. Healthy: a steady mixture, without a jump of became_unavailable.',
            unit: 'short',
            stacked: true,
            runbook: 'MassLossIncident',
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
            runbook: 'RouteSyncHeld',
          },
        ),
        table(
          `select recorded_at, kind, f.flight_id, f.return_flight_id
  from farewatch.availability_changes c
  join farewatch.availability_current f using (tracked_fare_id)
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
