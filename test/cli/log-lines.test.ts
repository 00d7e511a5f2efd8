import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createLogLines } from '../../src/cli/text/log-lines.ts'
import { createLogger } from '../../src/platform/base/logger.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { NO_COUNTS } from '../../src/routes/runs.ts'

function aTerminalLog(secrets: readonly string[] = [], debug = true) {
  const written: string[] = []
  const destination = createLogLines((text) => void written.push(text), { debug })
  const log = createLogger({ level: 'debug', scrub: createScrub(secrets), destination })
  const plain = () => written.map((text) => stripVTControlCharacters(text))
  return { log, written, plain }
}

describe('a log line on a terminal', () => {
  it('is the time, the message and its fields', () => {
    const { log, plain } = aTerminalLog()

    log.child({ role: 'worker' }).info({ runs: 2, list: 'routes', deep: { a: 1 } }, 'job done')

    expect(plain()).toEqual([
      expect.stringMatching(
        /^\d\d:\d\d:\d\d {2}job done {2}role=worker {2}runs=2 {2}list=routes {2}deep=\{"a":1\}\n$/,
      ),
    ])
  })

  it('is a sentence if it reports the outcome of a sync', () => {
    const { log, plain } = aTerminalLog()
    const outcome = { ...NO_COUNTS, runId: 1, list: 'routes', status: 'unchanged', live: 1_234 }

    log.info({ ...outcome, baseline: false, reason: null, durationsMs: {} }, 'route sync finished')

    expect(plain()[0]).toMatch(/ routes unchanged: 1,234 live\n$/)
  })

  it('is a sentence even if the line lacks counts', () => {
    const { log, plain } = aTerminalLog()

    log.warn({ runId: 1, list: 'routes', status: 'failed' }, 'route sync finished')
    log.info({ runId: 2, list: 'routes', status: 'applied', added: 3 }, 'route sync finished')

    expect(plain()[0]).toMatch(/ routes failed, nothing applied\n$/)
    expect(plain()[1]).toMatch(/ routes applied: 3 added, - removed, - live\n$/)
  })

  it('of level debug is shown without LOG_LEVEL=debug only if it reports a change', () => {
    const { log, plain } = aTerminalLog([], false)
    const after = { state: 'bookable', outbound: {}, return: null, price: null }

    log.debug('upstream call ended')
    const soldOut = { ...after, state: 'unavailable' }
    const unknown = { ...after, state: 'unknown' }
    log.debug({ fareId: 4, kind: 'first_seen', before: unknown, after }, 'fare changed')
    log.debug({ fareId: 5, kind: 'became_available', before: soldOut, after }, 'fare changed')

    expect(plain()).toEqual([expect.stringMatching(/ can be booked/)])
  })

  it('is coloured from warn on, and shows only the message of an error', () => {
    const { log, written, plain } = aTerminalLog()

    log.error({ err: new Error('broken') }, 'request failed')
    log.warn('careful')
    log.info('fine')

    expect(plain()[0]).toMatch(/ request failed {2}err=broken\n$/)
    expect(written[0]).toContain('\u001b[31mrequest failed')
    expect(written[1]).toContain('\u001b[33mcareful')
    expect(written[2]).not.toContain('\u001b[3')
  })

  it('is for a person: a change once, without ids of requests and without what is not decided', () => {
    const { log, plain } = aTerminalLog()

    log.info({ seq: 7, outcome: 'verified', text: 'sold out' }, 'webhook received')
    log.info({ seq: 7, outcome: 'refused', text: 'the signature is wrong' }, 'webhook received')
    log.info({ by: 'key 1', requestId: 'r-1', what: ['checks'] }, 'work paused')
    const outcome = { ...NO_COUNTS, runId: 1, list: 'routes', status: 'applied', live: 5 }
    log.info({ ...outcome, added: 1, removed: 0, pendingAbsences: 2 }, 'route sync finished')

    expect(plain().map((line) => line.slice(10).trim())).toEqual([
      'webhook 7 refused: the signature is wrong',
      'work paused  by=key 1  what=["checks"]',
      'routes applied: 1 added, 0 removed, 5 live',
    ])
  })

  it('has no colours where the terminal takes none', () => {
    const written: string[] = []
    const destination = createLogLines((text) => void written.push(text), {
      debug: true,
      coloured: false,
    })

    createLogger({ level: 'debug', scrub: createScrub([]), destination }).warn('careful')

    expect(written[0]).toMatch(/^\d\d:\d\d:\d\d {2}careful\n$/)
  })

  it('has no control characters', () => {
    const { log, plain } = aTerminalLog()

    log.info({ city: 'a\u001b[2J\nb' }, 'place \u202e changed')

    expect(plain()[0]).toMatch(/place {3}changed {2}city=a \[2J b\n$/)
  })

  it('is not written if a step has shown it', () => {
    const { log, written } = aTerminalLog()

    log.info('ready')
    log.warn('ready')

    expect(written).toHaveLength(1)
  })

  it('is written unchanged if a masked secret made it invalid JSON', () => {
    const { log, plain } = aTerminalLog(['123456'])

    log.info({ bytes: 1_234_567 }, 'fetched')

    expect(plain()).toEqual([expect.stringMatching(/^\{.*"bytes":\[redacted\]7.*\}\n$/)])
  })
})
