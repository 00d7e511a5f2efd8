import type { Clock } from '../platform/base/clock.ts'
import { RATED_STATES } from '../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import type { FactorTable } from './policy/factors.ts'
import { createRateModel, MEMORY_DAYS, type RateModel } from './policy/rate-model.ts'

/** The rate model of a process, shared with the other processes through the database. */
export interface RateStore {
  /** The model, with what other processes learned until a minute ago. */
  readonly read: (tx: Tx) => Promise<RateModel>
}

const SHARED_EVERY_MS = 60_000

interface Cell {
  readonly name: string
  readonly bucket: number
  readonly expected: number
  readonly observed: number
}

/**
 * What a process learns is added to the database once a minute: one write a batch would cost more than the batch is
 * worth. A process that dies, or a transaction that fails, loses what it learned since.
 */
export function createRateStore(clock: Clock): RateStore {
  const model = createRateModel()
  let shared = cellsOf(model)
  let sharedAtMs = Number.NEGATIVE_INFINITY
  return {
    read: async (tx) => {
      const nowMs = clock.now().getTime()
      if (nowMs - sharedAtMs < SHARED_EVERY_MS) return model
      // One share at a time: a second one would add the same lessons twice.
      sharedAtMs = Number.POSITIVE_INFINITY
      try {
        const own = cellsOf(model)
        const totals = await addCells(tx, difference(own, shared))
        // The model may have learned more meanwhile.
        setCells(model, sum(totals, difference(cellsOf(model), own)))
        shared = totals
      } finally {
        sharedAtMs = nowMs
      }
      return model
    },
  }
}

/** The model that the database has, from all processes. A command that reads it once needs no store. */
export async function readSharedModel(db: Db): Promise<RateModel> {
  const model = createRateModel()
  const cells = await db
    .selectFrom('fare_schedule_factor')
    .select(['name', 'bucket', 'expected', 'observed'])
    .execute()
  setCells(model, cells)
  return model
}

/** The factor tables of a model by name, in a fixed order. */
function tablesOf({ recency, surprise }: RateModel): [string, FactorTable][] {
  const byState = RATED_STATES.map((state): [string, FactorTable] => [
    `recency ${state}`,
    recency[state],
  ])
  return [...byState, ['surprise still', surprise.still], ['surprise moved', surprise.moved]]
}

/** The sums of the model in a fixed order. The rates of all fares are a table of one bucket. */
function cellsOf(model: RateModel): Cell[] {
  const rates = RATED_STATES.map((state) => {
    const { changes, exposure } = model.all[state]
    return { name: `all ${state}`, bucket: 0, expected: exposure, observed: changes }
  })
  const factors = tablesOf(model).flatMap(([name, { expected, observed }]) =>
    expected.map((value, bucket) => {
      return { name, bucket, expected: value, observed: observed[bucket] ?? 0 }
    }),
  )
  return [...rates, ...factors]
}

function setCells(model: RateModel, cells: readonly Cell[]): void {
  const tables = new Map(tablesOf(model))
  for (const { name, bucket, expected, observed } of cells) {
    const state = RATED_STATES.find((rated) => name === `all ${rated}`)
    if (state !== undefined) model.all[state] = { changes: observed, exposure: expected }
    const table = tables.get(name)
    if (table === undefined) continue
    table.expected[bucket] = expected
    table.observed[bucket] = observed
  }
}

function combine(a: readonly Cell[], b: readonly Cell[], sign: 1 | -1): Cell[] {
  return a.map((cell, i) => ({
    ...cell,
    expected: cell.expected + sign * (b[i]?.expected ?? 0),
    observed: cell.observed + sign * (b[i]?.observed ?? 0),
  }))
}

const sum = (a: readonly Cell[], b: readonly Cell[]) => combine(a, b, 1)
const difference = (a: readonly Cell[], b: readonly Cell[]) => combine(a, b, -1)

/**
 * Adds to the sums of all processes, and returns them in the order given. Every process locks the rows in this
 * order. The rates of all fares decay by the database's clock, so that neither a restart nor the number of
 * processes changes them.
 */
async function addCells(tx: Tx, cells: readonly Cell[]): Promise<Cell[]> {
  const { rows } = await sql<Cell>`
    insert into fare_schedule_factor as f (name, bucket, expected, observed)
    select name, bucket, expected, observed
      from jsonb_to_recordset(${JSON.stringify(cells)}::jsonb)
        as c (name text, bucket int, expected float8, observed float8)
        on conflict (name, bucket) do update
       set (expected, observed, updated_at) = (
             select f.expected * kept + excluded.expected, f.observed * kept + excluded.observed, now
               from clock_timestamp() now,
                    exp(case when f.name like 'all %' then -greatest(0, extract(epoch from now - f.updated_at)::float8)
                             else 0 end / 86400 / ${MEMORY_DAYS}::float8) kept)
    returning name, bucket, expected, observed
  `.execute(tx)
  const known = new Map(rows.map((row) => [`${row.name} ${row.bucket}`, row]))
  return cells.map((cell) => known.get(`${cell.name} ${cell.bucket}`) ?? cell)
}
