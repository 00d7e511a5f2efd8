import { quantiles, stat, table, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const ROUTES: Dashboard = {
  uid: 'farewatch-routes',
  title: 'Routes',
  question: 'Does every list arrive, and what did it change?',
  variables: [
    {
      name: 'list',
      label: 'List',
      query: 'label_values(farewatch_sync_held_runs, list)',
      from: 'prometheus',
    },
    {
      name: 'country',
      label: 'Country of departure',
      query: 'select distinct departure_country from farewatch.routes_current order by 1',
      from: 'postgres',
    },
  ],
  rows: [
    {
      height: 5,
      panels: [
        stat('max(farewatch_routes_live)', {
          title: 'Live routes',
          about: 'Good is what it was yesterday, a few per cent more or less.',
          unit: 'short',
          runbook: 'RouteSyncHeld',
        }),
        stat('max(farewatch_routes_available)', {
          title: 'Available routes',
          about: 'Live routes with something to sell. Good is a steady share of the live ones.',
          unit: 'short',
        }),
        stat(
          [
            {
              expr: 'max by (list) (farewatch_sync_last_success_timestamp_seconds{list=~"$list"}) * 1000',
              legend: '{{list}}',
            },
          ],
          {
            title: 'Last accepted list',
            about: 'Good is less than one interval ago.',
            unit: 'dateTimeFromNow',
            runbook: 'RouteSyncStale',
          },
        ),
        stat(
          [
            {
              expr: 'max by (list) (farewatch_sync_held_runs{list=~"$list"})',
              legend: '{{list}}',
            },
          ],
          {
            title: 'Held runs',
            about: 'Good is 0. Several of one list may be one review: lists that agree.',
            unit: 'short',
            limits: [1, 3],
            runbook: 'RouteSyncHeld',
          },
        ),
        stat(
          [
            {
              expr: 'max by (schedule) (farewatch_schedule_next_due_timestamp_seconds) * 1000',
              legend: '{{schedule}}',
            },
          ],
          {
            title: 'Next slots',
            about: 'Good is in the future; one that stays in the past is owed, and nobody works.',
            unit: 'dateTimeFromNow',
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
            { expr: 'max(farewatch_routes_live)', legend: 'live' },
            { expr: 'max(farewatch_routes_available)', legend: 'available' },
          ],
          {
            title: 'Routes over time',
            about: 'Good is a line without cliffs: the guard holds lists that would make one.',
            unit: 'short',
            runbook: 'RouteSyncHeld',
          },
        ),
        timeseries(
          [
            {
              expr: 'sum by (list, status) (increase(farewatch_sync_runs_total{list=~"$list"}[1h]))',
              legend: '{{list}} {{status}}',
            },
          ],
          {
            title: 'Runs',
            about: 'Ended within an hour, by how. Good is applied and unchanged alone.',
            unit: 'short',
            stacked: true,
            runbook: 'RouteSyncStale',
          },
        ),
        timeseries(
          quantiles('farewatch_sync_stage_duration_seconds', ['stage'], '{list=~"$list"}'),
          {
            title: 'Stages of a run',
            about:
              'Good is seconds for lists of some ten thousand routes; fetch is the upstream’s part.',
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
              expr: 'sum by (list, fault) (increase(farewatch_sync_list_faults_total{list=~"$list"}[1h]))',
              legend: '{{list}} {{fault}}',
            },
            {
              expr: 'sum by (list) (increase(farewatch_sync_returned_total{list=~"$list"}[1h]))',
              legend: '{{list}} returned',
            },
          ],
          {
            title: 'Oddities of accepted lists',
            about: 'Good is what it always was: a rise tells of a new version of the upstream.',
            unit: 'short',
          },
        ),
        stat(
          [
            {
              expr: 'sum by (status) (max by (list, status) (farewatch_sync_runs_recorded{list=~"$list"}))',
              legend: '{{status}}',
            },
          ],
          {
            title: 'All recorded runs',
            about: 'By what they are now. Good is few that are rejected, failed or dropped.',
            unit: 'short',
          },
        ),
        table(
          `select day, added, removed, gained, lost, places_changed
  from farewatch.route_churn_daily
 order by day desc
 limit 30`,
          {
            title: 'Churn by day',
            about:
              'Confirmed changes by the UTC day of the list. Good is single per cents of the live routes.',
            unit: 'short',
          },
        ),
      ],
    },
    {
      height: 9,
      panels: [
        table(
          `select id, started_at, list, status, fetched, live, added, removed, pending_absences, reason
  from farewatch.sync_runs
 where list in (\${list:sqlstring})
 order by started_at desc
 limit 20`,
          {
            title: 'The last runs',
            about: 'Newest first. Good is applied or unchanged; the reason says why it is not.',
            unit: 'short',
            runbook: 'RouteSyncStale',
          },
        ),
        table(
          `select departure_country, count(*) as live, count(*) filter (where available) as available
  from farewatch.routes_current
 where departure_country in (\${country:sqlstring})
 group by departure_country
 order by live desc
 limit 50`,
          {
            title: 'Live routes by country of departure',
            about: 'Good is that no country is missing that is sold.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
