import { ROUTE_CHANGE_KINDS, ROUTE_LISTS, RUN_OUTCOMES } from '../base/kinds.ts'
import type { Declare } from './declare.ts'

const STAGE_BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300]

export function syncMetrics({ counter, histogram }: Declare) {
  return {
    syncRuns: counter('farewatch_sync_runs_total', 'Finished runs of a route list, by status.', {
      list: ROUTE_LISTS,
      status: RUN_OUTCOMES,
    }),
    syncReviews: counter(
      'farewatch_sync_reviews_total',
      'Reviews that a held list opened. A list that agrees with a list under review opens none.',
      { list: ROUTE_LISTS },
    ),
    syncStageDuration: histogram(
      'farewatch_sync_stage_duration_seconds',
      'Duration of each stage of a run: fetch, stage, diff, apply.',
      {
        buckets: STAGE_BUCKETS_S,
        labels: { list: ROUTE_LISTS, stage: ['fetch', 'stage', 'diff', 'apply'] },
      },
    ),
    routeChanges: counter(
      'farewatch_route_changes_total',
      'Changes of routes and places that runs of this process applied, by kind.',
      { kind: ROUTE_CHANGE_KINDS },
    ),
    syncReturned: counter(
      'farewatch_sync_returned_total',
      'Routes that were absent from a list and returned before the absence was confirmed.',
      { list: ROUTE_LISTS },
    ),
    syncListFaults: counter(
      'farewatch_sync_list_faults_total',
      'Anomalies of accepted lists: duplicate, conflicting_place, unknown_pair (a pair that is not among the routes).',
      { list: ROUTE_LISTS, fault: ['duplicate', 'conflicting_place', 'unknown_pair'] },
    ),
  }
}

/** Of the whole system: read from the database, so correct after a restart and for runs of any process. */
export function syncGauges(declare: Declare) {
  return { ...runGauges(declare), ...routeGauges(declare) }
}

function runGauges({ gauge }: Declare) {
  return {
    syncLastSuccess: gauge(
      'farewatch_sync_last_success_timestamp_seconds',
      'When the last accepted list arrived; 0 before the first.',
      ['list'],
    ),
    syncLastAttempt: gauge(
      'farewatch_sync_last_attempt_timestamp_seconds',
      'When the last run of a list began; 0 before the first.',
      ['list'],
    ),
    syncInterval: gauge(
      'farewatch_sync_interval_seconds',
      'The longest time between two of the next due times of the schedule of a list.',
      ['list'],
    ),
    syncHeld: gauge('farewatch_sync_held_runs', 'Runs that are held and wait for a decision.', [
      'list',
    ]),
    syncRunsRecorded: gauge(
      'farewatch_sync_runs_recorded',
      'Recorded runs by their present status; an approved or dropped run was held before.',
      ['list', 'status'],
    ),
  }
}

function routeGauges({ gauge }: Declare) {
  return {
    routesLive: gauge('farewatch_routes_live', 'Live routes.'),
    routesAvailable: gauge(
      'farewatch_routes_available',
      'Live routes that are listed as available.',
    ),
    scheduleDue: gauge(
      'farewatch_schedule_next_due_timestamp_seconds',
      'When each schedule is due next; in the past while its work is overdue.',
      ['schedule'],
    ),
  }
}
