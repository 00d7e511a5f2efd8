import { describe, expect } from 'vitest'
import {
  AVAILABILITY_CHANGE_KINDS,
  ROUTE_CHANGE_KINDS,
  RUN_STATUSES,
  WATCH_EVENT_KINDS,
} from '../../src/base/kinds.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { it } from '../support/test-database.ts'

const KINDS: readonly (readonly [column: string, names: readonly string[]])[] = [
  ['sync_run.status', RUN_STATUSES],
  ['route_change.kind', ROUTE_CHANGE_KINDS],
  ['availability_change.kind', AVAILABILITY_CHANGE_KINDS],
  ['watch_event.kind', WATCH_EVENT_KINDS],
]

/** The names that the check constraint of a column lists. */
async function namesAllowed(db: Db, column: string): Promise<string[]> {
  const [table, name] = column.split('.')
  const { rows } = await sql<{ definition: string }>`
    select pg_get_constraintdef(c.oid) as definition
      from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and c.conkey = array[a.attnum]
     where c.contype = 'c' and c.conrelid = ${`farewatch_private.${table}`}::regclass and a.attname = ${name}
       and pg_get_constraintdef(c.oid) like '%ANY%'
  `.execute(db)
  return rows.flatMap(({ definition }) =>
    [...definition.matchAll(/'([^']*)'/g)].map((m) => m[1] ?? ''),
  )
}

describe('the closed sets of names', () => {
  it.for(KINDS)(
    '%s has the names that its check constraint allows',
    async ([column, names], { db }) => {
      expect(new Set(await namesAllowed(db, column))).toEqual(new Set(names))
    },
  )
})
