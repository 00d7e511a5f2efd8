import { quantiles, stat, table, timeseries } from './panel.ts'
import type { Dashboard } from './shapes.ts'

export const ROUTES: Dashboard = {
  uid: 'farewatch-routes',
  title: 'Routes',
  question: 'Does every list arrive, and what does it change?',
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
          about: 'Healthy: within a few per cent of yesterday.',
          unit: 'short',
          runbook: 'list_held',
        }),
        stat('max(farewatch_routes_available)', {
          title: 'Available routes',
          about:
            'Live routes that are listed as available. Healthy: a steady share of the live routes.',
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
            about: 'Healthy: less than one interval of the schedule ago.',
            unit: 'dateTimeFromNow',
            runbook: 'list_failing',
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
            about: 'Healthy: 0. At most one of each list is held.',
            unit: 'short',
            limits: [1, 3],
            runbook: 'list_held',
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
            title: 'Next due times',
            about: 'Healthy: in the future. If one stays in the past, no worker runs.',
            unit: 'dateTimeFromNow',
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
            { expr: 'max(farewatch_routes_live)', legend: 'live' },
            { expr: 'max(farewatch_routes_available)', legend: 'available' },
          ],
          {
            title: 'Routes over time',
            about: 'Healthy: no sudden drop. The guard holds a list that would cause one.',
            unit: 'short',
            runbook: 'list_held',
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
            about:
              'Runs that ended within an hour, by status. Healthy: only applied and unchanged.',
            unit: 'short',
            stacked: true,
            runbook: 'list_failing',
          },
        ),
        timeseries(
          quantiles('farewatch_sync_stage_duration_seconds', ['stage'], '{list=~"$list"}'),
          {
            title: 'Stages of a run',
            about:
              'Healthy: seconds for a list of some ten thousand routes. The stage fetch depends on the upstream.',
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
            title: 'Anomalies of accepted lists',
            about: 'Healthy: a constant level. A rise indicates a new version of the upstream.',
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
            about: 'By present status. Healthy: few are rejected, failed or dropped.',
            unit: 'short',
          },
        ),
        table(
          `select day, added, removed, gained, lost, places_changed
  from farewatch.daily_route_churn
 order by day desc
 limit 30`,
          {
            title: 'Churn by day',
            about:
              'Confirmed changes by the UTC day of the list. Healthy: a few per cent of the live routes.',
            unit: 'short',
          },
        ),
      ],
    },
    {
      height: 9,
      panels: [
        table(
          `select sync_run_id, started_at, list, status, fetched, live, added, removed, pending_absences, reason
  from farewatch.sync_runs
 where list in (\${list:sqlstring})
 order by started_at desc
 limit 20`,
          {
            title: 'Latest runs',
            about:
              'Newest first. Healthy: applied or unchanged. The reason explains any other status.',
            unit: 'short',
            runbook: 'list_failing',
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
            about: 'Healthy: no country is missing.',
            unit: 'short',
          },
        ),
      ],
    },
  ],
}
