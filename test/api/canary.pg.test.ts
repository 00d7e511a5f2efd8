import { expect } from 'vitest'
import { createLogger } from '../../src/platform/base/logger.ts'
import { sql } from '../../src/platform/db/database.ts'
import { newKey } from '../../src/resellers/api-keys.ts'
import { newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { call, EVERY } from './calls.ts'
import { seedApi } from './seed.ts'

const CANARY = 'CANARY-0123456789'

it('a credential in an address appears in no log line and no response', async ({ db }) => {
  await seedApi(db)
  const lines: string[] = []
  const log = createLogger({
    level: 'trace',
    scrub: (line) => line,
    destination: { write: (line) => void lines.push(line) },
  })
  const right = await newKeyText(db)
  const forged = newKey((max) => max - 1)
  let nowMs = 0
  const base = await startApi(db, { log, nowMs: () => nowMs })
  const answers: string[] = []
  const askAll = async () => {
    const queries = [
      ...[CANARY, forged, right].map((accessToken) => ({ accessToken })),
      ...[forged, right].map((key) => ({ accessToken: right, [key]: key })),
      { accessToken: right, token: CANARY },
    ]
    for (const [, operation] of EVERY) {
      for (const query of queries) {
        const answer = await call(base, operation, { query }).catch(
          // A response that has begun is cut off.
          (err: unknown) => ({ text: String(err), headers: new Headers() }),
        )
        answers.push(answer.text, JSON.stringify([...answer.headers]))
      }
    }
  }
  await askAll()
  // An internal error is logged.
  await sql`alter table farewatch_private.sync_run rename to elsewhere`.execute(db)
  // Without caches, so that the request reaches the database.
  nowMs += 1_000
  await askAll()
  answers.push(await (await fetch(`${base}/%zz?accessToken=${right}`)).text())
  answers.push(await (await fetch(`${base}/nowhere?accessToken=${right}`)).text())

  expect(lines.join('')).toContain('request failed')
  for (const secret of [CANARY, forged, right]) {
    expect(lines.join('\n')).not.toContain(secret)
    expect(answers.join('\n')).not.toContain(secret)
  }
})
