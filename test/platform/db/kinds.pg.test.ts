import { readFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import {
  AVAILABILITY_CHANGE_KINDS,
  MASS_KINDS,
  ROUTE_CHANGE_KINDS,
} from '../../../src/platform/base/change-kinds.ts'
import {
  BELIEF_STATES,
  BELIEFS,
  CHANGE_REASONS,
  CHECK_REASONS,
  DEAD_REASONS,
  DELIVERY_STATES,
  DISABLED_REASONS,
  END_REASONS,
  ENDPOINT_FORMATS,
  FAST_LANES,
  HIDDEN_REASONS,
  LIMITED_PURPOSES,
  PAUSED_WORK,
  PRICE_REASONS,
  RATED_STATES,
  ROUTE_LISTS,
  RUN_RESOLUTIONS,
  RUN_STATUSES,
  WATCH_PRIORITIES,
} from '../../../src/platform/base/kinds.ts'
import { it } from '../../support/test-database.ts'
import { generateTables, readValueLists } from './generate-tables.ts'

/** The lists of names in the code, by the column that stores them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'availability_change.kind': AVAILABILITY_CHANGE_KINDS,
  'availability_change.reason': CHANGE_REASONS,
  'delivery.dead_reason': DEAD_REASONS,
  'delivery.state': DELIVERY_STATES,
  'fare_schedule.lane': FAST_LANES,
  'fare_schedule.rated_state': RATED_STATES,
  'fare_state.hidden': HIDDEN_REASONS,
  'fare_state.last_check_why': CHECK_REASONS,
  'fare_state.outbound': BELIEFS,
  'fare_state.pair': BELIEF_STATES,
  'fare_state.price_reason': PRICE_REASONS,
  'fare_state.return': BELIEFS,
  'incident.kind': MASS_KINDS,
  'pause.what': PAUSED_WORK,
  'held_list.list': ROUTE_LISTS,
  'pending_absence.list': ROUTE_LISTS,
  'route_change.kind': ROUTE_CHANGE_KINDS,
  'sync_run.list': ROUTE_LISTS,
  'sync_run.resolution': RUN_RESOLUTIONS,
  'sync_run.status': RUN_STATUSES,
  'target_pace.purpose': LIMITED_PURPOSES,
  'watch.priority': WATCH_PRIORITIES,
  'watch_event.kind': ['watch_started', 'expired'],
  'watch_event.reason': END_REASONS,
  'webhook_endpoint.disabled_reason': DISABLED_REASONS,
  'webhook_endpoint.format': ENDPOINT_FORMATS,
}

it('every check constraint that lists names allows exactly the names of the code', async ({
  db,
}) => {
  const lists = await readValueLists(db)

  const allowed = lists.map(({ table, column, values }) => [`${table}.${column}`, new Set(values)])
  const expected = Object.entries(NAMES).map(([column, names]) => [column, new Set(names)])
  expect(Object.fromEntries(allowed)).toEqual(Object.fromEntries(expected))
})

describe('src/platform/db/tables.ts', () => {
  it('is what `npm run db:types` writes for the migrated database', async ({ db }) => {
    const committed = await readFile(
      new URL('../../../src/platform/db/tables.ts', import.meta.url),
      'utf8',
    )

    expect(committed).toBe(await generateTables(db))
  })
})
