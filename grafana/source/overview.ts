import { stat, table, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const OVERVIEW: Dashboard = {
  uid: 'farewatch-overview',
  title: 'Overview',
  question: 'Is what we tell resellers fresh and true?',
  rows: [
    {
      height: 5,
      panels: [
        stat('count(ALERTS{alertstate="firing"}) or vector(0)', {
          title: 'Alerts that fire',
          about: 'Good is 0. Every alert names its runbook.',
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
              'Since the last list was accepted. Good is below the interval of its schedule, two hours unless set; from two and a half intervals on it alerts.',
            unit: 's',
            limits: [9_000, 18_000],
            runbook: 'RouteSyncStale',
          },
        ),
        stat('farewatch:beliefs_stale:ratio or vector(0)', {
          title: 'Beliefs too old to sell on',
          about:
            'The share of believed fares that the API shows as unknown (stale). Good is 0, or nearly: ids that the upstream forgot stay here until they expire.',
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
              'Half, and 95 %, of the fares had a good answer within this time. Good is near one turn of all fares.',
            unit: 's',
            limits: [1_800, 3_600],
            runbook: 'BeliefsStale',
          },
        ),
        stat('sum(max by (list) (farewatch_sync_held_runs))', {
          title: 'Lists held for review',
          about: 'Good is 0. A held list changes nothing until somebody decides.',
          unit: 'short',
          limits: [1, 3],
          runbook: 'RouteSyncHeld',
        }),
        stat([{ expr: 'max by (kind) (farewatch_incidents_open)', legend: '{{kind}}' }], {
          title: 'Open incidents',
          about:
            'Good is 0 of both. During a mass loss no loss is believed; trouble slows checks down.',
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
            title: 'What the upstream says',
            about: 'Legs a second. Good is a small share of unknown.',
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
            title: 'The budget',
            about:
              'Requests a second. Spent is never above the budget; good is close to it while fares wait, less only where all fares are younger than their interval.',
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
            title: 'Since a worker last polled',
            about: 'Of each queue its liveliest worker. Good is a few seconds.',
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
              'Recorded in five minutes. Good is a steady mixture; a wall of became_unavailable is none.',
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
            about: 'Applied in an hour. Good is few, around the hours of the schedule.',
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
            title: 'The last changes of fares',
            about:
              'What resellers were told last, newest first. Good is that it looks like the world.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
