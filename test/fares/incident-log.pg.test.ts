import { describe, expect } from 'vitest'
import { closeIncident, NoIncidentError } from '../../src/fares/incidents.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { createLogger } from '../../src/platform/base/logger.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { verifierOf } from '../faults/fare-facts.ts'
import { it } from '../support/test-database.ts'
import { question } from '../upstream/verify-fixtures.ts'
import { available, gone, observation, trackFares } from './fare-fixtures.ts'

const FARES = 30
const { signal } = new AbortController()

/** A log that keeps its lines about incidents, without their time. */
function incidentLog() {
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

/** Bookable fares, and an upstream that answers the same for all of them. */
async function startFixture(db: Db) {
  await trackFares(db, FARES)
  const { log, lines } = incidentLog()
  let answer: LegObservation = available()
  const upstream = { verifyFares: async () => observation(answer) }
  const asker = verifierOf(db, upstream, { log })
  expect(await asker.fullRound()).toBe(FARES)
  return {
    asker,
    log,
    lines,
    answerWith: (leg: LegObservation) => {
      answer = leg
    },
    checkAll: async (leg: LegObservation, rounds: number) => {
      answer = leg
      for (let round = 0; round < rounds; round += 1) await asker.fullRound()
    },
  }
}

const opened = { level: 'warn', msg: 'incident opened' }
const closed = { level: 'info', msg: 'incident closed', lastedMs: expect.any(Number) as number }

describe('the log of an incident', () => {
  it('a mass loss has one line when it opens, and one when it closes by itself', async ({ db }) => {
    const { checkAll, lines } = await startFixture(db)

    await checkAll(gone, 3)
    expect(lines).toMatchObject([{ ...opened, id: 1, kind: 'mass_loss' }])
    await checkAll(available(), 2)

    expect(lines.slice(1)).toEqual([{ ...closed, id: 1, kind: 'mass_loss', closedBy: 'itself' }])
  })

  it('an operator who closes an incident causes a line, and none if no incident is open', async ({
    db,
  }) => {
    const { checkAll, lines } = await startFixture(db)
    const operator = incidentLog()
    await expect(closeIncident({ db, log: operator.log }, 'mass_loss')).rejects.toThrow(
      NoIncidentError,
    )
    await checkAll(gone, 2)

    const { askedAgain } = await closeIncident({ db, log: operator.log }, 'mass_loss')

    expect(lines).toMatchObject([opened])
    expect(operator.lines).toEqual([
      { ...closed, id: 1, kind: 'mass_loss', closedBy: 'operator', askedAgain },
    ])
  })

  it('an on-demand check that opens an incident causes a line', async ({ db }) => {
    const { asker, lines, answerWith } = await startFixture(db)
    answerWith(gone)

    for (let i = 0; i < FARES; i += 1) {
      await verifyOnDemand(asker.deps, question({ flightId: `F${i}` }), signal)
    }

    expect(lines).toMatchObject([{ ...opened, kind: 'mass_loss' }])
  })

  it('an incident whose transaction was rolled back has no line', async ({ db }) => {
    const { checkAll, lines } = await startFixture(db)
    await sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused at the end'; end $$;
      create constraint trigger refuse after insert on incident
        deferrable initially deferred for each row execute function refuse()
    `.execute(db)

    await expect(checkAll(gone, 2)).rejects.toThrow('refused at the end')

    expect(lines).toEqual([])
  })
})
