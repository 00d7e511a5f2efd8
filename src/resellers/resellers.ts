import { AppError } from '../platform/base/errors.ts'
import { OPERATORS } from '../platform/base/kinds.ts'
import { nameFault, quote } from '../platform/base/text.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { GENERATION_START } from '../platform/db/generations.ts'
import { takeTransactionLock } from '../platform/db/session-lock.ts'
import { affected, inTransaction } from '../platform/db/transaction.ts'

export interface Reseller {
  readonly id: number
  readonly name: string
  readonly createdAt: Date
  /** Null while the reseller is enabled. */
  readonly disabledAt: Date | null
  /** Its share of the checks, against those of the other resellers. */
  readonly share: number
  /** Which changes of routes its feed has; null: none but those of its watches of routes. */
  readonly routes: ChosenRoutes | null
}

/** Changes of routes: those of one of the countries or places, or of one of the pairs. */
export interface ChosenRoutes {
  readonly countries?: readonly string[]
  /** IATA codes, as in pairs. */
  readonly places?: readonly string[]
  readonly pairs?: readonly {
    readonly departure: string
    readonly destination: string
    readonly eitherDirection?: boolean
  }[]
}

/** The least and the largest share of a reseller. */
export const SHARE_RANGE = { min: 0.01, max: 1_000 } as const

/** A reseller with the size of its watch lists. */
export interface ResellerSummary extends Reseller {
  readonly lists: number
  readonly watches: number
  /** Watches that are neither paused nor ended; 0 for a disabled reseller. */
  readonly active: number
}

const COLUMNS = sql`id, name, created_at as "createdAt", disabled_at as "disabledAt", share, routes`

/** The reseller of a name, or undefined. */
export async function findReseller(db: Db, name: string): Promise<Reseller | undefined> {
  const { rows } = await sql<Reseller>`
    select ${COLUMNS}
      from reseller
     where name = ${name} and id <> ${OPERATORS.id}
  `.execute(db)
  return rows[0]
}

/** The reseller of a name, or the account of the operators. Throws UnknownResellerError. */
export async function requireAccount(db: Db, name: string): Promise<Pick<Reseller, 'id' | 'name'>> {
  return name === OPERATORS.name ? OPERATORS : requireReseller(db, name)
}

/** The reseller of a name. Throws UnknownResellerError. */
export async function requireReseller(db: Db, name: string): Promise<Reseller> {
  const found = await findReseller(db, name)
  if (found === undefined) throw new UnknownResellerError(name)
  return found
}

/** Locks a reseller until the transaction ends. Throws UnknownResellerError. */
export async function lockReseller(tx: Db, name: string): Promise<void> {
  const { rows } = await sql`
    select from reseller where name = ${name} for no key update
  `.execute(tx)
  if (rows.length === 0) throw new UnknownResellerError(name)
}

/** All resellers ordered by name, or one page of them. */
export async function listResellers(
  db: Db,
  { after, limit }: { readonly after?: string | undefined; readonly limit?: number } = {},
): Promise<ResellerSummary[]> {
  const { rows } = await sql<ResellerSummary>`
    select r.id, r.name, r.created_at as "createdAt", r.disabled_at as "disabledAt", r.share, r.routes,
           (select count(*) from watch_list l where l.reseller_id = r.id) as lists,
           coalesce(w.watches, 0) as watches,
           case when r.disabled_at is null then coalesce(w.active, 0) else 0 end as active
      from reseller r
      left join (select reseller_id, count(*) as watches,
                        count(*) filter (where paused_at is null and ended_at is null) as active
                   from watch
                  group by reseller_id) w on w.reseller_id = r.id
     where r.name > ${after ?? ''} and r.id <> ${OPERATORS.id}
     order by r.name
     limit ${limit ?? null}
  `.execute(db)
  return rows
}

/**
 * Adds a reseller. Its feed begins in the present generation: a restore may have lost a reseller of the same name, whose
 * readers have its numbers. Throws DuplicateResellerError and InvalidResellerNameError.
 */
export async function createReseller(db: Db, name: string): Promise<Reseller> {
  const fault = nameFault(name)
  if (fault !== undefined) throw new InvalidResellerNameError(name, fault)
  const { rows } = await sql<Reseller>`
    insert into reseller (name, last_seq) select ${name}, ${GENERATION_START} from generation for share
        on conflict (name) do nothing
    returning ${COLUMNS}
  `.execute(db)
  const [created] = rows
  if (created === undefined) throw new DuplicateResellerError(name)
  return created
}

/** Settings to change; what is missing stays. */
export interface ResellerChange {
  /** Within SHARE_RANGE, from the next claim of checks on. */
  readonly share?: number | undefined
  /** From the next list on. */
  readonly routes?: ChosenRoutes | null | undefined
}

/** Changes the settings of a reseller. Throws UnknownResellerError. */
export async function changeReseller(
  db: Db,
  name: string,
  { share, routes }: ResellerChange,
): Promise<Reseller> {
  const { rows } = await sql<Reseller>`
    update reseller
       set share = coalesce(${share ?? null}, share),
           routes = case when ${routes === undefined} then routes else ${routes ? JSON.stringify(routes) : null}::jsonb end
     where name = ${name} and id <> ${OPERATORS.id}
    returning ${COLUMNS}
  `.execute(db)
  const [reseller] = rows
  if (reseller === undefined) throw new UnknownResellerError(name)
  return reseller
}

/** Deletes the keys of a disabled reseller and marks it for deletion. Its name is taken until it is gone. */
export async function beginDeletion(tx: Tx, resellerId: number): Promise<void> {
  await sql`delete from api_key where reseller_id = ${resellerId}`.execute(tx)
  await sql`delete from sign_in_code where reseller_id = ${resellerId}`.execute(tx)
  await sql`
    update reseller set deleted_at = coalesce(deleted_at, clock_timestamp()) where id = ${resellerId}
  `.execute(tx)
}

/** The resellers that are marked for deletion. */
export async function listDeleted(
  db: Db,
): Promise<{ readonly id: number; readonly name: string }[]> {
  const { rows } = await sql<{ id: number; name: string }>`
    select id, name from reseller where deleted_at is not null order by id
  `.execute(db)
  return rows
}

/**
 * Deletes the row of a reseller that has nothing left but keys, which an operator may have created meanwhile. Returns
 * whether this call did.
 */
export async function finishDeletion(db: Db, resellerId: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    await sql`delete from api_key where reseller_id = ${resellerId}`.execute(tx)
    const statement = sql`delete from reseller where id = ${resellerId} and deleted_at is not null`
    return (await affected(statement, tx)) > 0
  })
}

/**
 * Serializes the transactions that change the watches of one reseller. It does not lock the reseller's row:
 * numbering the records of the reseller's feed locks that row, and a long import must not delay those records.
 */
export async function lockWatchesOf(tx: Tx, resellerId: number): Promise<void> {
  await takeTransactionLock(tx, `watches of reseller ${resellerId}`)
}

/**
 * Throws ResellerDisabledError. Call it after lockWatchesOf: otherwise the reseller could be disabled between the
 * check and the first write.
 */
export async function assertEnabled(tx: Tx, resellerId: number): Promise<void> {
  const { rows } = await sql<{ name: string; disabled: boolean }>`
    select name, disabled_at is not null as disabled from reseller where id = ${resellerId}
  `.execute(tx)
  const [reseller] = rows
  if (reseller === undefined) throw new Error(`there is no reseller with id ${resellerId}`)
  if (reseller.disabled) throw new ResellerDisabledError(reseller.name)
}

export class DuplicateResellerError extends AppError {
  override readonly name = 'DuplicateResellerError'
  override readonly code = 'resellers.duplicate'

  constructor(reseller: string) {
    super(`there is a reseller named ${quote(reseller)} already`)
  }
}

export class InvalidResellerNameError extends AppError {
  override readonly name = 'InvalidResellerNameError'
  override readonly code = 'resellers.invalid_name'

  constructor(reseller: string, fault: string) {
    super(`a reseller's name ${fault}: ${quote(reseller)}`)
  }
}

export class UnknownResellerError extends AppError {
  override readonly name = 'UnknownResellerError'
  override readonly code = 'not_found'
  readonly missing = 'reseller'

  constructor(reseller: string) {
    super(
      `there is no reseller named ${quote(reseller)}: "bin/farewatch resellers list" shows them`,
    )
  }
}

/** The watches of a disabled reseller can be read, paused and deleted, but none can begin. */
export class ResellerDisabledError extends AppError {
  override readonly name = 'ResellerDisabledError'
  override readonly code = 'resellers.disabled'

  constructor(reseller: string) {
    super(`the reseller ${quote(reseller)} is disabled`)
  }
}
