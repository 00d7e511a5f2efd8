import type { DisabledReason, EndpointFormat } from '../../platform/base/kinds.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import type { Place } from './endpoint-settings.ts'
import { type Attempt, MAX_COUNTED, type ShownEndpoint } from './endpoint-shapes.ts'

/** The columns of attempt `a`. */
export const ATTEMPT = sql`a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.outcome, a.answer`

/** A row that was joined with an attempt, or with none. */
export type WithAttempt<R> = R & Omit<Attempt, 'startedAt'> & { readonly startedAt: Date | null }

/** Separates the columns of the attempt from the others. */
export function splitAttempt<R>(row: WithAttempt<R>) {
  const { startedAt, durationMs, status, outcome, answer, ...rest } = row
  const attempt = startedAt === null ? null : { startedAt, durationMs, status, outcome, answer }
  return { rest: rest as unknown as R, attempt }
}

export interface EndpointOwner {
  readonly db: Db
  readonly resellerId: number
}

/** One endpoint of a reseller. Throws `not_found`, also if it is another reseller's. */
export async function requireEndpoint(
  { db, resellerId }: EndpointOwner,
  id: string,
): Promise<ShownEndpoint> {
  const [found] = await listEndpoints(db, { resellerId, id })
  if (found === undefined) throw endpointNotFound()
  return found
}

/** An outage of a receiver that lasts this long does not pass by itself. */
const FAILING_HOURS = 2

/**
 * Whether every attempt at endpoint `e` has failed for hours. An open circuit breaker ends ten minutes after the last
 * attempt at the latest, so a receiver that is well again, but was not tried since, does not count.
 */
export const FAILS_FOR_HOURS = sql<boolean>`coalesce(e.open_until > e.failing_since + make_interval(hours => ${FAILING_HOURS}), false)`

/** An endpoint that receives nothing because of its receiver. */
export interface UnreachedEndpoint {
  readonly id: string
  readonly reseller: string
  /** Null while it is enabled. */
  readonly reason: 'gone' | 'failing' | null
  readonly failingSince: Date | null
  /** Whether it is enabled, and every attempt at what waits has failed for hours. */
  readonly forHours: boolean
}

/**
 * The endpoints of all enabled resellers that farewatch has disabled or that fail, the last one first.
 * @param limit how many of each reason, and of those that fail for hours and for less.
 */
export async function listUnreached(db: Db, limit: number): Promise<UnreachedEndpoint[]> {
  const { rows } = await sql<UnreachedEndpoint>`
    select id, reseller, reason, "failingSince", "forHours"
      from (select e.id, r.name as reseller, e.disabled_reason as reason, e.failing_since as "failingSince", "forHours",
                   row_number() over (partition by e.disabled_reason, "forHours"
                                      order by e.disabled_at desc, e.failing_since desc, e.id) as place
              from webhook_endpoint e
              join reseller r on r.id = e.reseller_id and r.disabled_at is null
             cross join lateral (
               select e.disabled_at is null and ${FAILS_FOR_HOURS}
                      and exists (select from delivery d where d.endpoint_id = e.id and d.state = 'pending') as "forHours") h
             where e.disabled_reason in ('gone', 'failing')
                or e.disabled_at is null and (e.failures > 0 or e.held_until > now())) unreached
     where place <= ${limit}
     order by reason, "forHours", place
  `.execute(db)
  return rows
}

export function endpointNotFound(): ProblemError {
  return new ProblemError('not_found', {
    missing: 'endpoint',
    parameter: 'endpointId',
    detail: 'there is no endpoint with this id',
  })
}

interface EndpointFilter {
  /** Only those of this reseller. */
  readonly resellerId?: number | null
  readonly id?: string | null
  readonly after?: string | null | undefined
  readonly limit?: number | null
}

/** Endpoints, oldest first. */
export async function listEndpoints(
  db: Db,
  { resellerId = null, id = null, after = null, limit = null }: EndpointFilter,
): Promise<ShownEndpoint[]> {
  const { rows } = await sql<WithAttempt<Omit<ShownEndpoint, 'lastFailure'>>>`
    select e.id, r.name as reseller, e.format, e.target_shown as target, e.description, e.kinds, e.reasons, e.lists, e.rules, e.digest, e.quiet_hours as "quietHours",
           e.template, e.header_names as "headerNames",
           e.disabled_at is null as enabled, e.disabled_reason as "disabledReason", e.disabled_at as "disabledAt",
           e.failing_since as "failingSince", e.last_success_at as "lastSuccessAt",
           case when e.held_until > clock_timestamp() then e.held_until end as "heldUntil",
           p.pending, p.oldest as "oldestPendingAt",
           (select count(*) from delivery d where d.endpoint_id = e.id and d.state = 'dead') as dead,
           (select max(p.signs_until) from previous_secret p
             where p.endpoint_id = e.id and p.signs_until > clock_timestamp()) as "previousSecretUntil",
           e.created_at as "createdAt", e.updated_at as "updatedAt", ${ATTEMPT}
      from webhook_endpoint e
      join reseller r on r.id = e.reseller_id
     cross join lateral (
       select count(*) as pending, min(recorded_at) as oldest
         from (select recorded_at from delivery
                where endpoint_id = e.id and state = 'pending'
                order by recorded_at limit ${MAX_COUNTED}) waiting) p
      left join lateral (${LAST_FAILURE}) a on true
     where (${resellerId}::bigint is null or e.reseller_id = ${resellerId}::bigint)
       and (${id}::uuid is null or e.id = ${id}::uuid) and (${after}::uuid is null or e.id > ${after}::uuid)
     order by e.id
     limit ${limit}
  `.execute(db)
  return rows.map((row) => {
    const { rest, attempt } = splitAttempt(row)
    return { ...rest, lastFailure: attempt }
  })
}

/** The last failed attempt of endpoint `e`: of the pending deliveries that were begun last, and of the newest dead ones. */
const LAST_FAILURE = sql`
  select last.*
    from ((select id from delivery where endpoint_id = e.id and state = 'pending' and first_attempt_at is not null
            order by first_attempt_at desc limit 20)
          union all
          (select id from delivery where endpoint_id = e.id and state = 'dead' order by id desc limit 20)) d
   cross join lateral (
     select * from delivery_attempt
      where delivery_id = d.id and outcome <> 'ok' order by started_at desc limit 1) last
   order by last.started_at desc
   limit 1
`

/** An endpoint as its changes need it. */
export interface LockedEndpoint extends Place {
  readonly format: EndpointFormat
  /** Null if it is enabled. */
  readonly reason: DisabledReason | null
}

/** Locks an endpoint of a reseller until the transaction ends. Throws `not_found`, also if it is another reseller's. */
export async function lockEndpoint(
  tx: Tx,
  resellerId: number,
  id: string,
): Promise<LockedEndpoint> {
  const { rows } = await sql<LockedEndpoint>`
    select format, disabled_reason as reason, coalesce(target_hash, sha256(target)) as hash, target_shown as shown
      from webhook_endpoint
     where id = ${id} and reseller_id = ${resellerId}
       for no key update
  `.execute(tx)
  const [found] = rows
  if (found === undefined) throw endpointNotFound()
  return found
}
