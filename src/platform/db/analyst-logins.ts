import { randomBytes } from 'node:crypto'
import { AppError, messageOf } from '../base/errors.ts'
import { type Db, sql } from './database.ts'
import { inTransaction, selectOne } from './transaction.ts'

/**
 * Sessions `a` of people with a login of their own: members of farewatch_analyst that may not use the private
 * tables.
 */
const IS_ANALYST = sql<boolean>`(
  exists (select from pg_roles r
           where r.oid = a.usesysid and not r.rolsuper and r.rolcanlogin
             and pg_has_role(r.oid, 'farewatch_analyst', 'member')
             and not has_schema_privilege(r.oid, 'farewatch_private', 'usage'))
)`

const MAY_SIGNAL = sql<boolean>`(
  pg_has_role(current_user, 'pg_signal_backend', 'usage') and pg_has_role(current_user, 'pg_read_all_stats', 'usage')
)`

/** A statement that ran over the limit. */
export interface CancelledStatement {
  readonly role: string
  readonly pid: number
  readonly seconds: number
}

/**
 * Cancels the statements of analysts that have run for longer than the limit: a login can lift its own
 * `statement_timeout`. A statement that catches the cancellation loses its connection at twice the limit.
 *
 * Does nothing if our role may not end the sessions of others. `doctor` reports that.
 */
export async function cancelLongStatements(
  db: Db,
  limitSeconds: number,
): Promise<CancelledStatement[]> {
  const { rows } = await sql<CancelledStatement & { readonly done: boolean }>`
    with long as materialized (
      select a.usename as role, a.pid, floor(extract(epoch from clock_timestamp() - a.query_start))::int as seconds
        from pg_stat_activity a
       where a.datname = current_database() and a.state = 'active'
         and a.query_start < clock_timestamp() - make_interval(secs => ${limitSeconds})
         and ${IS_ANALYST} and ${MAY_SIGNAL}
    )
    select role, pid, seconds,
           case when seconds > 2 * ${limitSeconds}::int then pg_terminate_backend(pid) else pg_cancel_backend(pid) end as done
      from long
  `.execute(db)
  return rows.filter(({ done }) => done).map(({ role, pid, seconds }) => ({ role, pid, seconds }))
}

/** What the logins of analysts could do to farewatch, and whether we could stop it. */
export interface AnalystRisks {
  /** The names of the logins. */
  readonly logins: readonly string[]
  readonly mayLock: boolean
  readonly maySignal: boolean
}

export async function readAnalystRisks(db: Db): Promise<AnalystRisks> {
  return selectOne(
    sql<AnalystRisks>`
      select coalesce((select json_agg(a.rolname order by a.rolname)
                         from (select rolname, oid as usesysid from pg_roles) a
                        where ${IS_ANALYST}), '[]') as logins,
             has_function_privilege('farewatch_analyst', 'pg_advisory_lock(bigint)', 'execute')
               or has_function_privilege('farewatch_analyst', 'lo_create(oid)', 'execute') as "mayLock",
             ${MAY_SIGNAL} as "maySignal"
    `,
    db,
  )
}

/** A login could not be created. */
export class AnalystLoginError extends AppError {
  override readonly name = 'AnalystLoginError'
  override readonly code = 'analyst.not_created'
  override readonly retryable = false
}

/** How a login of an analyst begins its sessions. It may change all of these. */
const LOGIN_SETTINGS: Readonly<Record<string, string>> = {
  search_path: 'farewatch',
  timezone: 'UTC',
  default_transaction_read_only: 'on',
  statement_timeout: '30s',
  work_mem: '64MB',
}

const LOGIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/
const DUPLICATE = '42710'
const NOT_ALLOWED = '42501'

/** Creates a login that may read the public SQL and nothing else. Returns its password. Throws AnalystLoginError. */
export async function createAnalyst(db: Db, name: string): Promise<string> {
  if (!LOGIN_NAME.test(name)) {
    throw new AnalystLoginError(
      `"${name}" cannot be the name of a login: use small letters, digits and _`,
    )
  }
  const password = randomBytes(24).toString('base64url')
  const role = sql.id(name)
  await inTransaction(db, async (tx) => {
    await sql`create role ${role} login password ${sql.lit(password)} in role farewatch_analyst`.execute(
      tx,
    )
    for (const [setting, value] of Object.entries(LOGIN_SETTINGS)) {
      await sql`alter role ${role} set ${sql.id(setting)} = ${sql.lit(value)}`.execute(tx)
    }
  }).catch((err: unknown) => {
    throw loginErrorOf(err, name)
  })
  return password
}

function loginErrorOf(err: unknown, name: string): unknown {
  const { code } = err as { code?: unknown }
  if (code === DUPLICATE) {
    return new AnalystLoginError(
      `there is a login "${name}" already: choose another name, or as an administrator: drop role ${name}`,
    )
  }
  if (code !== NOT_ALLOWED) return err
  return new AnalystLoginError(
    `the role of farewatch may not create logins (${messageOf(err)}): run the statements of docs/analysts.md as a superuser`,
  )
}
