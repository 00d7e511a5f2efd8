import { describe, expect } from 'vitest'
import { createLogger } from '../../src/base/logger.ts'
import { type Db, sql } from '../../src/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { endIncident, NoIncidentError } from '../../src/verify/incidents/close-incident.ts'
import { verifyOnDemand } from '../../src/verify/on-demand/verify-on-demand.ts'
import { askerOf } from '../faults/fare-facts.ts'
import { it } from '../support/test-database.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { available, gone, observation, silent, trackFare } from './fare-fixtures.ts'

const FARES = 30
const { signal } = new AbortController()

/** Lines about incidents that a process logged, without their time. */
function aLog() {
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => {
    const { time: _, ...fields } = JSON.parse(line) as Record<string, unknown>
    if (String(fields.msg).startsWith('incident ')) lines.push(fields)
  }
  return {
    log: createLogger({ level: 'info', scrub: (text) => text, destination: { write } }),
    lines,
  }
}

/** Bookable fares, and an upstream that says of all what a test wants. */
async function scene(db: Db) {
  for (let i = 0; i < FARES; i += 1) await trackFare(db, { flightId: `F${i}` })
  const { log, lines } = aLog()
  let said: LegObservation = available()
  const upstream = { verifyFares: async () => observation(said) }
  const asker = askerOf(db, upstream, { log })
  expect(await asker.fullRound()).toBe(FARES)
  return {
    asker,
    log,
    lines,
    say: async (leg: LegObservation, rounds: number) => {
      said = leg
      for (let round = 0; round < rounds; round += 1) await asker.fullRound()
    },
  }
}

const opened = { level: 'warn', msg: 'incident opened' }
const closed = { level: 'info', msg: 'incident closed', lastedMs: expect.any(Number) as number }

describe('the log of an incident', () => {
  it('says once that a mass loss opened, by which numbers, and once that it ended by itself', async ({
    db,
  }) => {
    const { say, lines } = await scene(db)

    await say(gone, 3)
    expect(lines).toEqual([
      { ...opened, id: 1, kind: 'mass_loss', bookable: 0, lost: FARES, waiting: FARES },
    ])
    await say(available(), 2)

    expect(lines.slice(1)).toEqual([
      {
        ...closed,
        id: 1,
        kind: 'mass_loss',
        closedBy: 'itself',
        askedAgain: expect.any(Number) as number,
        bookable: FARES,
        lost: 0,
        waiting: 0,
      },
    ])
  })

  it('says the same of upstream trouble', async ({ db }) => {
    const { say, lines } = await scene(db)

    await say(silent, 2)
    await sql`update check_minute set minute = minute - interval '10 minutes'`.execute(db)
    await say(available(), 1)

    expect(lines).toMatchObject([
      { ...opened, kind: 'upstream_trouble', checks: 3 * FARES, unknown: 2 * FARES },
      { ...closed, kind: 'upstream_trouble', closedBy: 'itself', checks: FARES, unknown: 0 },
    ])
  })

  it('says that a person closed it, and nothing where there was none to close', async ({ db }) => {
    const { say, lines } = await scene(db)
    const person = aLog()
    await expect(endIncident({ db, log: person.log }, 'mass_loss')).rejects.toThrow(NoIncidentError)
    await say(gone, 2)

    const { askedAgain } = await endIncident({ db, log: person.log }, 'mass_loss')

    expect(lines).toMatchObject([opened])
    expect(person.lines).toEqual([
      { ...closed, id: 1, kind: 'mass_loss', closedBy: 'operator', askedAgain },
    ])
  })

  it('says it of one that an answer on demand opened', async ({ db }) => {
    const { asker, lines, say } = await scene(db)
    await sql`
      insert into check_minute as m (minute, checks, unknown)
      values (date_trunc('minute', clock_timestamp()), 100, 100)
          on conflict (minute) do update set checks = 100, unknown = 100
    `.execute(db)
    await say(silent, 0)

    await verifyOnDemand(asker.deps, question({ flightId: 'F1' }), signal)

    expect(lines).toMatchObject([{ ...opened, kind: 'upstream_trouble' }])
  })

  it('says nothing of one whose transaction was rolled back', async ({ db }) => {
    const { say, lines } = await scene(db)
    await sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused at the end'; end $$;
      create constraint trigger refuse after insert on incident
        deferrable initially deferred for each row execute function refuse()
    `.execute(db)

    await expect(say(gone, 2)).rejects.toThrow('refused at the end')

    expect(lines).toEqual([])
  })
})
