import { randomBytes } from 'node:crypto'
import { AppError, messageOf } from '../base/errors.ts'
import { type Db, type RawBuilder, sql } from './database.ts'
import { inTransaction, selectOne } from './transaction.ts'

/**
 * Whether a session is one of a person with a login of their own: a member of farewatch_analyst that may not use the
 * private tables.
 */
function isAnalyst(session: 'a' | 'w'): RawBuilder<boolean> {
  return sql<boolean>`(
    exists (select from pg_roles r
             where r.oid = ${sql.ref(`${session}.usesysid`)} and not r.rolsuper and r.rolcanlogin
               and pg_has_role(r.oid, 'farewatch_analyst', 'member')
               and not pg_has_role(r.oid, 'farewatch_analyst', 'member with admin option')
               and not has_schema_privilege(r.oid, 'farewatch_private', 'usage'))
  )`
}

/** Whether the login of this session is that of an analyst. */
export async function hasAnalystLogin(db: Db): Promise<boolean> {
  const { found } = await selectOne(
    sql<{ found: boolean }>`
      select ${isAnalyst('a')} as found from (select oid as usesysid from pg_roles where rolname = session_user) a
    `,
    db,
  )
  return found
}

const MAY_SIGNAL = sql<boolean>`(
  pg_has_role(current_user, 'pg_signal_backend', 'usage') and pg_has_role(current_user, 'pg_read_all_stats', 'usage')
)`

/** Whether session `a` blocks one that is no analyst's: a migration waits for every reader of a table. */
const IS_IN_THE_WAY = sql<boolean>`
  exists (select from pg_stat_activity w
           where w.datname = current_database() and w.wait_event_type = 'Lock' and not ${isAnalyst('w')}
             and a.pid = any(pg_blocking_pids(w.pid)))
`

/** What was ended of the session of an analyst. */
interface EndedSession {
  readonly role: string
  readonly pid: number
  /** How long the statement ran, or the transaction was idle. */
  readonly seconds: number
  readonly why: 'statement too long' | 'idle in a transaction' | 'in the way'
}

/**
 * Ends what analysts hold for too long, because a login can lift its own timeouts. A statement that has run for longer
 * than the limit is cancelled, and one that catches the cancellation loses its connection at twice the limit. A
 * transaction that was idle for as long loses it too, and so does a session that another of ours waits for.
 *
 * Does nothing if our role may not end the sessions of others. `doctor` reports that.
 */
export async function endLongSessions(db: Db, limitSeconds: number): Promise<EndedSession[]> {
  const { rows } = await sql<EndedSession & { readonly done: boolean }>`
    with seen as materialized (
      select a.usename as role, a.pid, a.state = 'active' as active, ${IS_IN_THE_WAY} as blocks,
             floor(extract(epoch from clock_timestamp() - case a.state when 'active' then a.query_start else a.state_change end))::int as seconds
        from pg_stat_activity a
       where a.datname = current_database() and (a.state = 'active' or a.state like 'idle in transaction%')
         and ${isAnalyst('a')} and ${MAY_SIGNAL}
    )
    select role, pid, seconds,
           case when blocks then 'in the way' when active then 'statement too long' else 'idle in a transaction' end as why,
           case when active and not blocks and seconds <= 2 * ${limitSeconds}::int then pg_cancel_backend(pid)
                else pg_terminate_backend(pid) end as done
      from seen
     where blocks or seconds >= ${limitSeconds}
  `.execute(db)
  return rows.flatMap(({ done, ...ended }) => (done ? [ended] : []))
}

/** What the logins of analysts could do to farewatch, and whether we could stop it. */
interface AnalystRisks {
  /** The names of the logins. */
  readonly logins: readonly string[]
  readonly mayLock: boolean
  readonly maySignal: boolean
  /** Whether they may make temporary tables. */
  readonly mayStore: boolean
  /** Those whose queries may write temporary files without a limit. */
  readonly unlimited: readonly string[]
}

export async function readAnalystRisks(db: Db): Promise<AnalystRisks> {
  return selectOne(
    sql<AnalystRisks>`
      select coalesce((select json_agg(a.rolname order by a.rolname)
                         from (select rolname, oid as usesysid from pg_roles) a
                        where ${isAnalyst('a')}), '[]') as logins,
             has_function_privilege('farewatch_analyst', 'pg_advisory_lock(bigint)', 'execute')
               or has_function_privilege('farewatch_analyst', 'lo_create(oid)', 'execute') as "mayLock",
             ${MAY_SIGNAL} as "maySignal",
             has_database_privilege('farewatch_analyst', current_database(), 'TEMPORARY') as "mayStore",
             coalesce((select json_agg(a.rolname order by a.rolname)
                         from (select rolname, oid as usesysid, rolconfig from pg_roles) a
                        where ${isAnalyst('a')}
                          and not exists (select from unnest(a.rolconfig) c where c like 'temp_file_limit=%')), '[]') as unlimited
    `,
    db,
  )
}

/** A login could not be created. */
class AnalystLoginError extends AppError {
  override readonly name = 'AnalystLoginError'
  override readonly code = 'analyst.not_created'
}

/** How a login of an analyst begins its sessions. It may change all of these. */
const LOGIN_SETTINGS: Readonly<Record<string, string>> = {
  search_path: 'farewatch',
  timezone: 'UTC',
  default_transaction_read_only: 'on',
  statement_timeout: '30s',
  idle_in_transaction_session_timeout: '60s',
  work_mem: '64MB',
}
/** Which a login cannot change. */
const TEMP_FILE_LIMIT = '2GB'
const CONNECTION_LIMIT = 10

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
    await sql`
      create role ${role} login password ${sql.lit(password)} connection limit ${sql.lit(CONNECTION_LIMIT)}
             in role farewatch_analyst
    `.execute(tx)
    const { mayLimit } = await selectOne(
      sql<{ mayLimit: boolean }>`
        select has_parameter_privilege(current_user, 'temp_file_limit', 'SET') as "mayLimit"
      `,
      tx,
    )
    const limit = mayLimit ? { temp_file_limit: TEMP_FILE_LIMIT } : {}
    for (const [setting, value] of Object.entries({ ...LOGIN_SETTINGS, ...limit })) {
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
    return new AnalystLoginError(`there is a login "${name}" already: choose another name`)
  }
  if (code !== NOT_ALLOWED) return err
  return new AnalystLoginError(
    `the role of farewatch may not create logins (${messageOf(err)}): run the statements of docs/analysts.md as a superuser`,
  )
}
