import { type Db, sql } from '../../db/database.ts'
import { affected, selectOne } from '../../db/transaction.ts'
import type { Said } from './said.ts'

/** One attempt at a question. */
export interface Attempt {
  /** SHA-256 of the question, in hex. */
  readonly question: string
  /** A UUID of its own. */
  readonly asker: string
}

/** A process that renews its lease every third of this lives; one that does not, another takes the place of. */
export const LEASE_MS = 6_000
/** Answers that are older have been read by all who waited for them. */
const KEEP_MS = 60_000

const LEASE_END = sql`clock_timestamp() + ${`${LEASE_MS} ms`}::interval`

/** Takes the question for this attempt; false where another one is at it. */
export async function takeQuestion(db: Db, { question, asker }: Attempt): Promise<boolean> {
  const statement = sql`
    insert into question_in_flight as q (question, asker, lease_until)
    values (${question}, ${asker}, ${LEASE_END})
        on conflict (question) do update
       set asker = excluded.asker, started_at = clock_timestamp(), lease_until = excluded.lease_until, said = null
     where q.said is not null or q.lease_until < clock_timestamp()
  `
  return (await affected(statement, db)) > 0
}

/** An attempt of somebody, as those see it who wait for it. */
export interface SeenAttempt {
  readonly said: Said | null
  readonly startedMsAgo: number
  /** Whether its process has not been heard of for too long. */
  readonly lapsed: boolean
}

/** The attempt at a question; undefined where it was given up. */
export async function seeAttempt(db: Db, question: string): Promise<SeenAttempt | undefined> {
  const { rows } = await sql<SeenAttempt>`
    select said, (extract(epoch from clock_timestamp() - started_at) * 1000)::float8 as "startedMsAgo",
           lease_until < clock_timestamp() as lapsed
      from question_in_flight
     where question = ${question}
  `.execute(db)
  return rows[0]
}

export async function renewQuestion(db: Db, { question, asker }: Attempt): Promise<void> {
  await sql`
    update question_in_flight set lease_until = ${LEASE_END}
     where question = ${question} and asker = ${asker} and said is null
  `.execute(db)
}

/** Tells all who wait what came of it; nobody, where another attempt has taken the place of this one. */
export async function tellSaid(db: Db, { question, asker }: Attempt, said: Said): Promise<void> {
  await sql`
    update question_in_flight set said = ${JSON.stringify(said)}::jsonb
     where question = ${question} and asker = ${asker}
  `.execute(db)
}

/** Gives the question up: of those who wait, the first asks it. */
export async function dropQuestion(db: Db, { question, asker }: Attempt): Promise<void> {
  await sql`
    delete from question_in_flight where question = ${question} and asker = ${asker}
  `.execute(db)
}

/** Forgets what nobody waits for any more. Two that do so at a time take different rows. */
export async function forgetQuestions(db: Db): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`
      with past as (
        select question from question_in_flight
         where lease_until < clock_timestamp() - ${`${KEEP_MS} ms`}::interval
           for update skip locked
      ), forgotten as (
        delete from question_in_flight q using past where q.question = past.question returning 1
      )
      select count(*) from forgotten
    `,
    db,
  )
  return count
}
