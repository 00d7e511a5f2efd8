import type { PausedWork } from '../base/kinds.ts'
import { recordAction } from './audit.ts'
import { type Db, type RawBuilder, sql, type Tx } from './database.ts'
import { notify } from './listener.ts'
import { inTransaction, selectOne } from './transaction.ts'

/** Work that operators have stopped, or will stop. */
export interface Pause {
  readonly what: PausedWork
  readonly from: Date
  /** Null: until it is resumed. */
  readonly until: Date | null
  readonly reason: string
  /** Who made it: a key, or `cli`. */
  readonly by: string
  /** Whether it has begun. */
  readonly running: boolean
}

const OWN_COLUMNS = sql`
  what, starts_at as "from", nullif(ends_at, 'infinity') as until, reason, made_by as by,
  starts_at <= clock_timestamp() as running
`

/**
 * The SQL of when the running pauses of some work end: infinity for one without an end, -infinity if none runs. No work
 * is due before it.
 */
export function pauseEnd(what: PausedWork): RawBuilder<Date> {
  return sql`
    (select coalesce(max(p.ends_at), '-infinity') from pause p
      where p.what = ${what} and p.starts_at <= clock_timestamp() and p.ends_at > clock_timestamp())
  `
}

/** The SQL of an instant at which some work is due, or of the later end of its pause. Null for null. */
export function afterPause(what: PausedWork, due: RawBuilder<unknown>): RawBuilder<Date> {
  return sql`case when ${due} is not null then greatest(${due}, ${pauseEnd(what)}) end`
}

/** In how many milliseconds a running pause of some work ends: Infinity if it has no end; undefined if none runs. */
export async function pausedForMs(db: Db, what: PausedWork): Promise<number | undefined> {
  const { ms } = await selectOne(
    sql<{ ms: number }>`
      select (extract(epoch from ${pauseEnd(what)} - clock_timestamp()) * 1000)::float8 as ms
    `,
    db,
  )
  return ms > 0 ? ms : undefined
}

/** The pauses that run or are planned, by their start. */
export async function listPauses(db: Db): Promise<Pause[]> {
  const { rows } = await sql<Pause>`
    select ${OWN_COLUMNS} from pause where ends_at > clock_timestamp() order by starts_at, id
  `.execute(db)
  return rows
}

interface NewPause {
  readonly what: readonly PausedWork[]
  /** Default: now. */
  readonly from?: Date | undefined
  /** Default: until it is resumed. */
  readonly until?: Date | undefined
  readonly reason: string
  readonly by: string
}

/** Pauses some work, now or at a planned time. What is in progress ends; nothing due is forgotten. */
export function addPause(db: Db, { what, from, until, reason, by }: NewPause): Promise<Pause[]> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<Pause>`
      insert into pause (what, starts_at, ends_at, reason, made_by)
      select work, coalesce(${from ?? null}::timestamptz, clock_timestamp()), coalesce(${until ?? null}::timestamptz, 'infinity'),
             ${reason}, ${by}
        from unnest(${what}::text[]) work
      returning ${OWN_COLUMNS}
    `.execute(tx)
    const span = `from ${from?.toISOString() ?? 'now'} until ${until?.toISOString() ?? 'resumed'}`
    await recordAction(tx, { by, action: 'pause', target: `${what.join(', ')} ${span}`, reason })
    await notifyWork(tx)
    return rows
  })
}

interface Resumption {
  readonly what: readonly PausedWork[]
  /** Whether pauses that have not begun are cancelled too. */
  readonly planned: boolean
  readonly by: string
}

/** Ends the running pauses of some work. Returns what was ended. */
export function endPauses(db: Db, { what, planned, by }: Resumption): Promise<Pause[]> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<Pause>`
      delete from pause
       where what = any(${what}::text[]) and ends_at > clock_timestamp()
         and (${planned}::boolean or starts_at <= clock_timestamp())
      returning ${OWN_COLUMNS}
    `.execute(tx)
    if (rows.length === 0) return rows
    const target = [...new Set(rows.map((pause) => pause.what))].join(', ')
    await recordAction(tx, { by, action: 'resume', target })
    await notifyWork(tx)
    return rows
  })
}

/** The hints of the work itself: each process looks what is due. */
function notifyWork(tx: Tx): Promise<unknown> {
  return sql`select ${notify('due')}, ${notify('schedule')}, ${notify('watch')}`.execute(tx)
}
