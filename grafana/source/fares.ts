import { quantiles, stat, table, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const FARES: Dashboard = {
  uid: 'farewatch-fares',
  title: 'Fares',
  question: 'What are the beliefs about fares, how old are they, and what changes?',
  variables: [
    {
      name: 'kind',
      label: 'Kind of change',
      query: 'label_values(farewatch_availability_changes_total, kind)',
      from: 'prometheus',
    },
  ],
  rows: [
    {
      height: 5,
      panels: [
        stat([{ expr: 'max by (state) (farewatch_tracked_fares)', legend: '{{state}}' }], {
          title: 'Tracked fares',
          about:
            'By what is believed. Healthy: few are hidden or unknown. The belief of a hidden fare is held back, because answers contradict it or none can be used. Unknown fares are new, or the upstream does not know their flight ids.',
          unit: 'short',
        }),
        stat(
          [
            {
              expr: 'max by (state) (farewatch_beliefs_stale{state!="unknown"})',
              legend: '{{state}}',
            },
          ],
          {
            title: 'Stale beliefs',
            about:
              'Shown as unknown because the last good check is older than ten minutes and than six expected intervals. Healthy: 0 or nearly 0.',
            unit: 'short',
            limits: [1, 10],
            runbook: 'fares_stale',
          },
        ),
        stat([{ expr: 'max by (kind) (farewatch_incidents_open)', legend: '{{kind}}' }], {
          title: 'Open incidents',
          about: 'By kind. Healthy: 0 of each kind.',
          unit: 'short',
          limits: [1, 2],
          runbook: 'mass',
        }),
        stat([{ expr: 'max by (wait) (farewatch_changes_waiting)', legend: '{{wait}}' }], {
          title: 'Changes that wait',
          about:
            'Fares whose last answers contradict what was known, and nothing is recorded yet. Healthy: few wait for a confirmation, none is late (over five minutes) or held.',
          unit: 'short',
          runbook: 'changes_late',
        }),
        stat('sum(increase(farewatch_changes_held_total[$__range]))', {
          title: 'Changes held',
          about:
            'Changes in the time range that were held because an incident was open. Healthy: 0.',
          unit: 'short',
          limits: [1, 100],
          runbook: 'mass',
        }),
        stat([{ expr: 'max by (feed) (farewatch_feed_last_seq)', legend: '{{feed}}' }], {
          title: 'Records in the feeds',
          about:
            'The last seq of each feed; for watch the sum over all resellers. Healthy: it only grows.',
          unit: 'short',
        }),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'time() - (max by (share) (farewatch_beliefs_good_since_timestamp_seconds) > 0)',
              legend: '{{share}} of the fares',
            },
          ],
          {
            title: 'Age of the beliefs',
            about:
              'Half, 95 % and all of the fares had a good check within this time. Healthy: the line of 95 % stays near the expected interval.',
            unit: 's',
            limits: [600, 3_600],
            runbook: 'fares_stale',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (reason) (rate(farewatch_observations_total{outcome="unknown"}[$__rate_interval]))',
              legend: '{{reason}}',
            },
          ],
          {
            title: 'Observations without a result',
            about: 'Unknown legs per second, by reason. They change no belief. Healthy: near 0.',
            unit: 'reqps',
            stacked: true,
            runbook: 'calls_failing',
          },
        ),
        timeseries(quantiles('farewatch_check_duration_seconds'), {
          title: 'Duration of a check',
          about:
            'How long verify requests take. Healthy: below 1 s. A request times out after 10 s.',
          unit: 's',
          limits: [2.5, 10],
          runbook: 'calls_failing',
        }),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (kind, reason) (increase(farewatch_availability_changes_total{kind=~"$kind"}[5m]))',
              legend: '{{kind}} {{reason}}',
            },
          ],
          {
            title: 'Changes',
            about: 'Changes recorded in five minutes, by kind. Healthy: a steady mixture of kinds.',
            unit: 'short',
            stacked: true,
            runbook: 'mass',
          },
        ),
        timeseries(quantiles('farewatch_change_lag_seconds'), {
          title: 'Time from the first answer to the recorded change',
          about:
            'Healthy: below 1 s for gains and prices, and 20 to 30 s for losses, which need a confirmation.',
          unit: 's',
          limits: [60, 300],
          runbook: 'fares_stale',
        }),
        timeseries(
          [
            {
              expr: 'sum by (reason) (rate(farewatch_checks_dropped_total[$__rate_interval]))',
              legend: '{{reason}}',
            },
          ],
          {
            title: 'Checks that did not count',
            about:
              'Healthy: near 0. late_slot: a worker is overloaded. upstream_closed: the upstream was paused or its circuit breaker open. superseded: a newer result was recorded first.',
            unit: 'reqps',
            stacked: true,
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
              expr: 'max by (priority, share) (farewatch_detection_delay_seconds{bound="midpoint"})',
              legend: '{{priority}} {{share}}',
            },
            {
              expr: 'max by (priority) (farewatch_detection_delay_seconds{bound="at_most",share="0.95"})',
              legend: '{{priority}} 0.95 at most',
            },
          ],
          {
            title: 'Time until a change is recorded',
            about:
              'The changes of the last day, and those that wait now. A change happened between the last check without it and the first with it: estimated at half of this time, and at most all of it. Healthy: below what you promise.',
            unit: 's',
            runbook: 'changes_late',
          },
        ),
        timeseries(
          [
            {
              expr: 'time() - (max by (wait) (farewatch_changes_oldest_waiting_timestamp_seconds) > 0)',
              legend: '{{wait}}',
            },
          ],
          {
            title: 'Age of the oldest change that waits',
            about:
              'Since its first answer, by how it waits. Healthy: below a minute for a confirmation, and no line for late and held ones.',
            unit: 's',
            limits: [60, 300],
            runbook: 'changes_late',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (priority) (rate(farewatch_budget_slots_by_priority_total[$__rate_interval]))',
              legend: '{{priority}}',
            },
          ],
          {
            title: 'Use of the budget by priority',
            about:
              'Slots per second, by the priority of the watches. none: lists, questions on demand and fares without a watch. Healthy: every priority that watches have gets a share.',
            unit: 'reqps',
            stacked: true,
            runbook: 'fares_stale',
          },
        ),
      ],
    },
    {
      height: 9,
      panels: [
        table(
          `select kind, count(*) as changes, max(recorded_at) as last
  from farewatch.availability_changes
 where $__timeFilter(recorded_at) and kind in (\${kind:sqlstring})
 group by kind
 order by changes desc`,
          {
            title: 'Changes in the time range',
            about: 'Counted in the feed. Healthy: the numbers match the graph above.',
            unit: 'short',
          },
        ),
        table(
          `select fare_id, flight_id, state, hidden_reason, last_good_check_at, last_reason, stale
  from farewatch.fares_current
 where expired_at is null and last_watch_ended_at is null
 order by last_good_check_at nulls first
 limit 20`,
          {
            title: 'Fares with the oldest good check',
            about: 'Healthy: none is stale. last_reason is why the last check gave no result.',
            unit: 'short',
            runbook: 'fares_stale',
          },
        ),
        table(
          `select width_bucket(lasted_seconds / 86400, 0, 30, 10) * 3 as up_to_days,
       count(*) as spells, count(*) filter (where reason = 'sold_out') as sold_out,
       count(*) filter (where reason in ('sales_closed', 'departed', 'departs_on_passed')) as departure_came,
       count(*) filter (where censored and reason is null) as still_on_sale
  from farewatch.fare_survival
 group by 1
 order by 1`,
          {
            title: 'How long fares stay bookable',
            about:
              'Periods of bookability in steps of three days. Healthy: a long tail. Many short periods mean that answers alternate.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
