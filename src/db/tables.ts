import type { Generated } from 'kysely'

/** The private tables, for kysely's builder. Set-based SQL names its columns itself. */
export interface Tables {
  sync_run: SyncRunTable
  schedule: ScheduleTable
}

export interface SyncRunTable {
  id: Generated<number>
  list: string
  status: string | null
  baseline: Generated<boolean>
  reason_code: string | null
  reason: string | null
  started_at: Generated<Date>
  fetched_at: Date | null
  finished_at: Date | null
  bytes: number | null
  content_hash: string | null
  fetched: number | null
  duplicates: number | null
  conflicting_places: number | null
  unknown_pairs: number | null
  live: number | null
  added: number | null
  removed: number | null
  returned: number | null
  pending_absences: number | null
  places_changed: number | null
  gained: number | null
  lost: number | null
  durations_ms: Generated<Record<string, number>>
}

export interface ScheduleTable {
  name: string
  cron: string
  next_due_at: Date
  last_due_at: Date | null
}
