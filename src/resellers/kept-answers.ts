import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { seal, unseal } from '../platform/base/sealing.ts'
import { type Db, sql, type Tx } from '../platform/db/database.ts'
import { tryTransactionLock } from '../platform/db/session-lock.ts'
import { affected, inTransaction } from '../platform/db/transaction.ts'
import type { KeptAnswer, Repeatable, Transactions } from '../platform/http/operation.ts'
import { ProblemError } from '../platform/http/problems.ts'

/** Creates the transactions in which the operations of the API write. */
export function createTransactions<D extends { readonly db: Db }>(): Transactions<D> {
  const run: Transactions<D>['run'] = (deps, work) =>
    inTransaction(deps.db, (tx) => work({ ...deps, db: tx }))
  return {
    run,
    once: (deps, asked, make) =>
      inTransaction(deps.db, (tx) => answerOnce(tx, asked, () => make({ ...deps, db: tx }))),
  }
}

/** Deletes the answers that are older than a day. Returns how many. */
export function pruneKeptAnswers(db: Db): Promise<number> {
  return affected(sql`delete from kept_answer where not ${IS_KEPT}`, db)
}

const IS_KEPT = sql`created_at > clock_timestamp() - interval '1 day'`

/**
 * Answers as the first request of this name was answered; if there was none, makes the answer and keeps it. The answer
 * is kept in the transaction of what it made, so a crash leaves both or none. Throws a ProblemError if the first request
 * still runs, or was another one.
 */
async function answerOnce(
  tx: Tx,
  { keyId, secret, name, request }: Repeatable,
  make: () => Promise<KeptAnswer>,
): Promise<KeptAnswer> {
  const nameHash = createHash('sha256').update(name).digest()
  const isFirst = await tryTransactionLock(tx, `answer ${keyId} ${nameHash.toString('hex')}`)
  if (!isFirst) throw new ProblemError('request.still_running', { headers: { 'retry-after': '1' } })
  const box = boxOf(secret, name)
  const digest = box.digest(request)
  const { rows } = await sql<{ request: Buffer; answer: Buffer }>`
    select request, answer from kept_answer
     where key_id = ${keyId} and name_hash = ${nameHash} and ${IS_KEPT}
  `.execute(tx)
  const [kept] = rows
  if (kept !== undefined) {
    if (!kept.request.equals(digest)) throw new ProblemError('request.other_repeated')
    return JSON.parse(await box.open(kept.answer)) as KeptAnswer
  }
  const answer = await make()
  await sql`
    insert into kept_answer (key_id, name_hash, request, answer)
    values (${keyId}, ${nameHash}, ${digest}, ${await box.close(JSON.stringify(answer))})
        on conflict (key_id, name_hash) do update
       set request = excluded.request, answer = excluded.answer, created_at = excluded.created_at
  `.execute(tx)
  return answer
}

const KEY_BYTES = 32

/**
 * Encrypts under the text of the caller's key. Only its hash is stored, so an answer that shows a secret once can be read
 * by a request with that key alone, and not by a reader of the database, whatever else that reader knows.
 */
function boxOf(secret: string, name: string) {
  const derived = Buffer.from(
    hkdfSync('sha256', secret, name, 'farewatch answers 1', 2 * KEY_BYTES),
  )
  const key = derived.subarray(0, KEY_BYTES)
  return {
    digest: (request: string | Buffer) =>
      createHmac('sha256', derived.subarray(KEY_BYTES)).update(request).digest(),
    close: async (text: string) => seal(key, await promisify(deflateRaw)(text)),
    open: async (sealed: Buffer) => (await promisify(inflateRaw)(unseal(key, sealed))).toString(),
  }
}
