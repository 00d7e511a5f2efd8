import { describe, expect, it } from 'vitest'
import { AppError } from '../../../src/platform/base/errors.ts'
import { createLogger, type Logger } from '../../../src/platform/base/logger.ts'
import { createScrub } from '../../../src/platform/base/secrets.ts'

const TOKEN = 'CANARY-0123456789"abcdef'

function aLog(level = 'trace') {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLogger({ level, scrub: createScrub([TOKEN]), destination })
  const records = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { log, text: () => lines.join(''), records }
}

class RefusedError extends AppError {
  override readonly name = 'RefusedError'
  override readonly code = 'test.refused'
}

describe('the logger', () => {
  it('writes one line of JSON with time, level, bindings, fields and message', () => {
    const { log, records, text } = aLog()

    log.child({ role: 'worker' }).warn({ list: 'routes' }, 'route sync finished')

    expect(text()).toMatch(/^\{.*\}\n$/)
    expect(records()).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/) as string,
        role: 'worker',
        list: 'routes',
        msg: 'route sync finished',
      },
    ])
  })

  it('drops lines below its level', () => {
    const { log, records } = aLog('warn')

    log.info('quiet')
    log.error('loud')

    expect(records()).toMatchObject([{ level: 'error', msg: 'loud' }])
  })

  it('writes name, code, message, stack and causes of an error', () => {
    const { log, records } = aLog()
    const cause = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })

    log.error({ err: new RefusedError('no', { cause }) }, 'request failed')

    expect(records()[0]?.err).toMatchObject({
      name: 'RefusedError',
      code: 'test.refused',
      message: 'no',
      stack: expect.stringMatching(/^(Refused)?Error: no\n {4}at .*logger\.test\.ts/) as string,
      cause: { name: 'Error', code: 'ECONNREFUSED', message: 'connect failed' },
    })
  })

  it('writes the messages of the errors inside an AggregateError', () => {
    const { log, records } = aLog()
    const err = new AggregateError([new Error('no answer by ::1'), new Error('none by 127.0.0.1')])

    log.error({ err }, 'connect failed')

    expect(records()[0]?.err).toMatchObject({ message: 'no answer by ::1; none by 127.0.0.1' })
  })

  it.each([
    ['text', 'text'],
    [null, 'null'],
    [{ a: 1 }, '[object Object]'],
  ])('logs a thrown %s by its text alone', (thrown, message) => {
    const { log, records } = aLog()

    log.error({ err: thrown }, 'failed')

    expect(records()[0]?.err).toEqual({ message })
  })

  it('stops at a limit when causes form a ring', () => {
    const { log, text } = aLog()
    const err = new Error('chicken')
    err.cause = new Error('egg', { cause: err })

    log.error({ err }, 'failed')

    expect(text()).toContain('egg')
  })

  it('leaves out the own properties of errors, which hold requests and options', () => {
    const { log, text } = aLog()
    const cause = Object.assign(new Error('inner'), { options: { auth: 'inner-secret' } })
    const err = Object.assign(new Error('outer', { cause }), { request: { auth: 'outer-secret' } })

    log.error({ err }, 'failed')
    log.error(err)

    expect(text()).not.toMatch(/inner-secret|outer-secret|auth/)
  })

  it('leaves out an error code that is neither text nor a number', () => {
    const { log, text } = aLog()

    log.error({ err: Object.assign(new Error('odd'), { code: { auth: 'hidden' } }) }, 'failed')

    expect(text()).not.toContain('hidden')
  })
})

describe('a secret is masked', () => {
  const withStack = new Error('x')
  withStack.stack = `Error: x\n    at https://host/?accessToken=${encodeURIComponent(TOKEN)}`
  const withCause = new Error('x', { cause: new Error(`deep ${TOKEN}`) })

  const writers: readonly (readonly [string, (log: Logger) => void])[] = [
    ['message', (log) => log.info(`sent ${TOKEN}`)],
    ['formatted message', (log) => log.info('sent %s', TOKEN)],
    ['field', (log) => log.info({ url: `https://host/?t=${TOKEN}` }, 'sent')],
    ['nested field', (log) => log.info({ headers: { deep: [TOKEN] } }, 'sent')],
    ['name of a field', (log) => log.info({ [TOKEN]: 1 }, 'sent')],
    ['bindings', (log) => log.child({ token: TOKEN }).info('sent')],
    ['message of an error', (log) => log.error({ err: new Error(TOKEN) }, 'failed')],
    ['stack of an error', (log) => log.error({ err: withStack }, 'failed')],
    ['cause of an error', (log) => log.error({ err: withCause }, 'failed')],
    ['error alone', (log) => log.error(withCause)],
    ['thrown text', (log) => log.error({ err: TOKEN }, 'failed')],
    ['code of an error', (log) => log.error({ err: Object.assign(new Error(), { code: TOKEN }) })],
  ]

  it.each(writers)('in a %s', (_where, write) => {
    const { log, text } = aLog()

    write(log)

    expect(text()).toContain('[redacted]')
    expect(text()).not.toMatch(/CANARY|abcdef/)
  })

  it('is masked before a long text is cut', () => {
    const { log, text } = aLog()
    const starts = Array.from({ length: TOKEN.length + 2 }, (_, i) => i)

    for (const start of starts) {
      const message = `${'x'.repeat(499 - start)}${TOKEN}`
      const err = new Error(message)
      err.stack = `${'y'.repeat(3_999 - start)}${TOKEN}`
      log.error({ err }, 'failed')
    }

    expect(text()).not.toContain('CANARY')
  })
})
