import type { Logger } from '../base/logger.ts'
import { type Db, sql } from './database.ts'

/** What an operator changed. */
interface OperatorAction {
  /** Who: a key, or `cli`. */
  readonly by: string
  /** Constant text in lower case: `held run approved`. */
  readonly action: string
  readonly target?: string | undefined
  readonly reason?: string | undefined
}

export interface AuditEntry {
  readonly id: number
  readonly at: Date
  readonly by: string
  readonly action: string
  readonly target: string | null
  readonly reason: string | null
}

/** Records what an operator changed: in the transaction of the change where the caller has it, else after it. */
export async function recordAction(
  db: Db,
  { by, action, target, reason }: OperatorAction,
): Promise<void> {
  await db
    .insertInto('audit_entry')
    .values({ made_by: by, action, target: target ?? null, reason: reason ?? null })
    .execute()
}

interface OperatorDeps {
  readonly db: Db
  readonly log: Logger
}

/** An operation of HTTP, as far as its records name it. */
interface Requested {
  readonly caller: { readonly limitKey: string }
  readonly request: { readonly id: string }
}

/** Logs what an operator has changed by a request, with what else the line says, and records it. */
export async function recordOperation(
  { db, log }: OperatorDeps,
  { caller, request }: Requested,
  {
    action,
    target,
    ...object
  }: { readonly action: string; readonly target: string; readonly [name: string]: unknown },
): Promise<void> {
  const by = caller.limitKey
  log.info({ by, requestId: request.id, ...object }, action)
  await recordAction(db, { by, action, target })
}

/** What operators changed, the latest first. @param before the id after which the last page ended. */
export async function listActions(
  db: Db,
  { limit, before }: { readonly limit: number; readonly before?: number | undefined },
): Promise<AuditEntry[]> {
  const { rows } = await sql<AuditEntry>`
    select id, at, made_by as by, action, target, reason
      from audit_entry
     where id < coalesce(${before ?? null}::bigint, 9223372036854775807)
     order by id desc
     limit ${limit}
  `.execute(db)
  return rows
}
