import { quantiles, stat, table, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const FARES: Dashboard = {
  uid: 'farewatch-fares',
  title: 'Fares',
  question: 'What is believed, how old is it, what changes?',
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
        stat([{ expr: 'max by (pair) (farewatch_tracked_fares)', legend: '{{pair}}' }], {
          title: 'Tracked fares',
          about:
            'By what is believed. Good is few that are unknown: those are new, or ids that nobody knows.',
          unit: 'short',
        }),
        stat(
          [
            {
              expr: 'max by (pair) (farewatch_beliefs_stale{pair!="unknown"})',
              legend: '{{pair}}',
            },
          ],
          {
            title: 'Stale beliefs',
            about:
              'Shown as unknown because no good answer came for an hour, or six turns. Good is 0, or nearly.',
            unit: 'short',
            limits: [1, 10],
            runbook: 'BeliefsStale',
          },
        ),
        stat([{ expr: 'max by (kind) (farewatch_incidents_open)', legend: '{{kind}}' }], {
          title: 'Open incidents',
          about: 'Good is 0 of both.',
          unit: 'short',
          limits: [1, 2],
          runbook: 'MassLossIncident',
        }),
        stat('sum(increase(farewatch_losses_held_total[$__range]))', {
          title: 'Losses held',
          about: 'Answers in the time shown that an incident kept from being believed. Good is 0.',
          unit: 'short',
          limits: [1, 100],
          runbook: 'MassLossIncident',
        }),
        stat([{ expr: 'max by (feed) (farewatch_feed_last_seq)', legend: '{{feed}}' }], {
          title: 'Records in the feeds',
          about:
            'The last number of each feed; of the resellers’ own the sum. Good is that it only grows.',
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
              'Half, 95 % and all of the believed fares had a good answer within this time. Good is that 95 % stay near one turn.',
            unit: 's',
            limits: [3_600, 7_200],
            runbook: 'BeliefsStale',
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
            title: 'Answers that tell nothing',
            about: 'Legs a second, by reason. None of them counts against a fare. Good is near 0.',
            unit: 'reqps',
            stacked: true,
            runbook: 'UpstreamErrors',
          },
        ),
        timeseries(quantiles('farewatch_check_duration_seconds'), {
          title: 'Duration of a check',
          about:
            'Of the upstream’s answers. Good is below a second; at ten seconds a call is given up.',
          unit: 's',
          limits: [2.5, 10],
          runbook: 'UpstreamErrors',
        }),
      ],
    },
    {
      height: 8,
      panels: [
        timeseries(
          [
            {
              expr: 'sum by (kind) (increase(farewatch_availability_changes_total{kind=~"$kind"}[5m]))',
              legend: '{{kind}}',
            },
          ],
          {
            title: 'Changes',
            about: 'Recorded in five minutes, by kind. Good is a steady mixture.',
            unit: 'short',
            stacked: true,
            runbook: 'MassLossIncident',
          },
        ),
        timeseries(quantiles('farewatch_change_lag_seconds'), {
          title: 'From the first sight of a change to its record',
          about:
            'Good is below a second for gains and prices, and 20 to 30 seconds for losses, which are confirmed.',
          unit: 's',
          limits: [60, 300],
          runbook: 'BeliefsStale',
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
              'Good is near 0. late_slot: a worker is too busy; upstream_closed: a pause or a breaker; superseded: somebody asked later.',
            unit: 'reqps',
            stacked: true,
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
            title: 'Changes in the time shown',
            about:
              'From the feed itself, whoever recorded them. Good is that it agrees with the graph.',
            unit: 'short',
          },
        ),
        table(
          `select tracked_fare_id, flight_id, pair, last_good_check_at, last_reason, stale
  from farewatch.availability_current
 where expired_at is null and ended_at is null
 order by last_good_check_at nulls first
 limit 20`,
          {
            title: 'Fares that have waited longest for a good answer',
            about: 'Good is that none is stale; the reason tells what the last answer lacked.',
            unit: 'short',
            runbook: 'BeliefsStale',
          },
        ),
        table(
          `select width_bucket(extract(epoch from lasted) / 86400, 0, 30, 10) * 3 as up_to_days,
       count(*) as spells, count(*) filter (where censored) as still_on_sale
  from farewatch.availability_survival
 group by 1
 order by 1`,
          {
            title: 'How long fares can be bought',
            about:
              'Spells of bookability in steps of three days. Good is a long tail: many short spells tell of answers that flap.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
