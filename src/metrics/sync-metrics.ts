import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const STAGE_BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300]

export function syncMetrics(registers: Registry[]) {
  return {
    syncRuns: new Counter({
      name: 'farewatch_sync_runs_total',
      help: 'Finished runs of a route list, by status.',
      labelNames: ['list', 'status'],
      registers,
    }),
    syncReviews: new Counter({
      name: 'farewatch_sync_reviews_total',
      help: 'Reviews that a held list opened. A list that agrees with a list under review opens none.',
      labelNames: ['list'],
      registers,
    }),
    syncStageDuration: new Histogram({
      name: 'farewatch_sync_stage_duration_seconds',
      help: 'Duration of each stage of a run: fetch, stage, diff, apply.',
      labelNames: ['list', 'stage'],
      buckets: STAGE_BUCKETS_S,
      registers,
    }),
    routeChanges: new Counter({
      name: 'farewatch_route_changes_total',
      help: 'Changes of routes and places that runs of this process applied, by kind.',
      labelNames: ['kind'],
      registers,
    }),
    syncReturned: new Counter({
      name: 'farewatch_sync_returned_total',
      help: 'Routes that were absent from a list and returned before the absence was confirmed.',
      labelNames: ['list'],
      registers,
    }),
    syncListFaults: new Counter({
      name: 'farewatch_sync_list_faults_total',
      help: 'Anomalies of accepted lists: duplicate, conflicting_place, unknown_pair (a pair that is not among the routes).',
      labelNames: ['list', 'fault'],
      registers,
    }),
  }
}

/** Of the whole system: read from the database, so correct after a restart and for runs of any process. */
export function syncGauges(registers: Registry[]) {
  return { ...runGauges(registers), ...routeGauges(registers) }
}

function runGauges(registers: Registry[]) {
  return {
    syncLastSuccess: new Gauge({
      name: 'farewatch_sync_last_success_timestamp_seconds',
      help: 'When the last accepted list arrived; 0 before the first.',
      labelNames: ['list'],
      registers,
    }),
    syncLastAttempt: new Gauge({
      name: 'farewatch_sync_last_attempt_timestamp_seconds',
      help: 'When the last run of a list began; 0 before the first.',
      labelNames: ['list'],
      registers,
    }),
    syncInterval: new Gauge({
      name: 'farewatch_sync_interval_seconds',
      help: 'The longest time between two of the next due times of the schedule of a list.',
      labelNames: ['list'],
      registers,
    }),
    syncHeld: new Gauge({
      name: 'farewatch_sync_held_runs',
      help: 'Runs that are held and wait for a decision.',
      labelNames: ['list'],
      registers,
    }),
    syncRunsRecorded: new Gauge({
      name: 'farewatch_sync_runs_recorded',
      help: 'Recorded runs by their present status; an approved or dropped run was held before.',
      labelNames: ['list', 'status'],
      registers,
    }),
  }
}

function routeGauges(registers: Registry[]) {
  return {
    routesLive: new Gauge({
      name: 'farewatch_routes_live',
      help: 'Live routes.',
      registers,
    }),
    routesAvailable: new Gauge({
      name: 'farewatch_routes_available',
      help: 'Live routes that are listed as available.',
      registers,
    }),
    scheduleDue: new Gauge({
      name: 'farewatch_schedule_next_due_timestamp_seconds',
      help: 'When each schedule is due next; in the past while its work is overdue.',
      labelNames: ['schedule'],
      registers,
    }),
  }
}
