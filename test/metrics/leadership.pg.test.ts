import { describe, expect, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { type Leadership, seekLeadership } from '../../src/db/leadership.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const FAST = { everyMs: 50, silenceMs: 2_000 }

function contend(url: string, timings = FAST): Leadership {
  const leadership = seekLeadership({
    url,
    name: 'test',
    applicationName: 'contender',
    log: silentLog,
    clock: systemClock,
    timings,
  })
  onTestFinished(() => leadership.close())
  return leadership
}

async function leads(leadership: Leadership): Promise<boolean> {
  return (await leadership.session()) !== undefined
}

/** Ends the session that holds the lock, as the database does when its process is gone. */
async function endLeader(db: Db): Promise<void> {
  await sql`
    select pg_terminate_backend(a.pid)
      from pg_locks l
      join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.granted and a.datname = current_database()
       and a.application_name = 'contender'
  `.execute(db)
}

describe('a leadership', () => {
  it('is one contender’s alone', async ({ databaseUrl }) => {
    const contenders = Array.from({ length: 4 }, () => contend(databaseUrl))

    const leading = await Promise.all(contenders.map(leads))

    expect(leading.filter(Boolean)).toHaveLength(1)
  })

  it('passes on when the leader lets go', async ({ databaseUrl }) => {
    const first = contend(databaseUrl)
    expect(await leads(first)).toBe(true)
    const second = contend(databaseUrl)
    expect(await leads(second)).toBe(false)

    await first.close()

    await until('the second leads', () => leads(second))
    expect(await leads(first)).toBe(false)
  })

  it('is lost with its session, and found out by the next sign of life', async ({
    databaseUrl,
    db,
  }) => {
    const first = contend(databaseUrl)
    expect(await leads(first)).toBe(true)

    await endLeader(db)

    await until('a leader again, with a session that answers', async () => {
      const session = await first.session()
      if (session === undefined) return false
      return sql`select 1`.execute(session).then(
        () => true,
        () => false,
      )
    })
  })

  it('is taken from a leader that is silent', async ({ databaseUrl }) => {
    const hung = contend(databaseUrl, { everyMs: 600_000, silenceMs: 300 })
    expect(await leads(hung)).toBe(true)

    const second = contend(databaseUrl)

    await until('the second leads', () => leads(second))
    expect(await leads(hung)).toBe(false)
  })

  it('tells at once that nobody can lead where there is no database, and ends', async () => {
    const leadership = contend('postgres://nobody@127.0.0.1:9/nowhere')

    expect(await leads(leadership)).toBe(false)
    await leadership.close()
  })
})
