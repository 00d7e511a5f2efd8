import { describe, expect, it, onTestFinished } from 'vitest'
import { createEmailFormat, type EmailDeps, emailFault } from '../../src/delivery/formats/email.ts'
import type { Message } from '../../src/delivery/formats/format.ts'
import { createMailer, type MailerDeps } from '../../src/delivery/formats/mailer.ts'
import { type SmtpStep, startSmtpServer } from '../support/smtp-server.ts'
import { SOLD_OUT, soldOut } from './message-fixtures.ts'

const ADDRESS = 'ana@agency.example'
const PUBLIC_URL = 'https://fares.example'
const TARGET = {
  endpointId: 'endpoint-7',
  address: ADDRESS,
  secrets: [],
  headers: {},
  template: null,
}
const NEVER = new AbortController().signal

/** A mail server that misbehaves at some steps, and the format that sends to it. */
async function fixture(
  steps: Record<string, SmtpStep> = {},
  given: Partial<EmailDeps & MailerDeps> = {},
) {
  const server = await startSmtpServer()
  onTestFinished(() => server.close())
  Object.assign(server.steps, steps)
  const mailer = createMailer({
    smtpUrl: `smtp://127.0.0.1:${server.port}`,
    from: 'Fares <fares@seller.example>',
    scrub: (text) => text.replaceAll('operator-secret', '[redacted]'),
    ...given,
  })
  const format = createEmailFormat({
    mailer,
    limit: async () => 0,
    ...given,
  })
  const send = (messages: readonly Message[] = [soldOut()], signal = NEVER) =>
    format.send(TARGET, messages, signal)
  return { server, send }
}

/** The headers of a mail, unfolded, and its text, decoded. */
function parts(raw = '') {
  const [head = '', ...body] = raw.split('\r\n\r\n')
  const headers = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const encoded = body.join('\r\n\r\n')
  const text = /^content-transfer-encoding: base64$/im.test(head)
    ? Buffer.from(encoded, 'base64').toString()
    : decodeQuotedPrintable(encoded)
  return { headers, text: text.replaceAll('\r\n', '\n') }
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

const headerOf = (raw: string | undefined, name: string) =>
  parts(raw)
    .headers.filter((line) => line.toLowerCase().startsWith(`${name}: `))
    .map((line) => line.slice(name.length + 2))

describe('an e-mail', () => {
  it('is plain text with the sentence of the change, under an id of the delivery', async () => {
    const { server, send } = await fixture({}, { publicUrl: PUBLIC_URL })

    expect(await send()).toEqual({ kind: 'delivered', status: 250, answer: '250 ok' })
    expect(await send()).toMatchObject({ kind: 'delivered' })

    const [first, again] = server.mails
    expect(first).toMatchObject({ from: 'fares@seller.example', to: ['ana@agency.example'] })
    expect(headerOf(first?.raw, 'from')).toEqual(['Fares <fares@seller.example>'])
    expect(headerOf(first?.raw, 'to')).toEqual(['ana@agency.example'])
    expect(headerOf(first?.raw, 'content-type')).toEqual(['text/plain; charset=utf-8'])
    expect(headerOf(first?.raw, 'auto-submitted')).toEqual(['auto-generated'])
    expect(headerOf(first?.raw, 'message-id')).toEqual([
      '<0190a7c0-0000-7000-8000-000000000001@seller.example>',
    ])
    expect(headerOf(again?.raw, 'message-id')).toEqual(headerOf(first?.raw, 'message-id'))
    expect(parts(first?.raw).text).toMatch(/^PMI → BCN.*sold out.*\n\n-- \nTimes are local/)
    expect(parts(first?.raw).text.split('\n')[0]).toBe(SOLD_OUT)
    expect(parts(first?.raw).text).toContain(`\n${PUBLIC_URL}/#/deliveries/endpoint-7`)
    expect(headerOf(first?.raw, 'list-unsubscribe')).toEqual([])
  })

  it('has no header and no recipient from a hostile name or reference', async () => {
    const { server, send } = await fixture()
    const evil =
      'X\r\nBcc: thief@evil.example\r\n\r\n.\r\nMAIL FROM:<thief@evil.example>\u2028\u202e'

    await send([soldOut({ airline: evil, reference: evil })])

    const [mail] = server.mails
    const { headers, text } = parts(mail?.raw)
    expect(server.mails).toHaveLength(1)
    expect(mail?.to).toEqual(['ana@agency.example'])
    expect(headers.filter((line) => /^(bcc|cc):/i.test(line))).toEqual([])
    expect(headers.filter((line) => /^subject:/i.test(line))).toHaveLength(1)
    expect(text.split('\n')[0]).toContain(': sold out (was 348.81 EUR)')
    expect(text).not.toMatch(/[\u2028\u202e\r]/)
    expect(server.commands.map((line) => line.split(' ')[0])).toEqual([
      'EHLO',
      'MAIL',
      'RCPT',
      'DATA',
    ])
  })
})

// Fault: A mail server that refuses, hangs or drops the connection at any step, also after it has the message. Each ends in a
// result within the deadline; only a missing mailbox disables the endpoint; a repeated message keeps its Message-ID.
describe('a mail server that refuses', () => {
  it.each<[string, string, object]>([
    ['greeting', '421 busy', { kind: 'failed', outcome: 'smtp_4xx', status: 421 }],
    ['MAIL', '550 5.7.1 no', { kind: 'failed', outcome: 'smtp_5xx', status: 550 }],
    ['RCPT', '450 4.2.1 later', { kind: 'failed', outcome: 'smtp_4xx', status: 450 }],
    ['RCPT', '550 5.7.1 relaying denied', { kind: 'failed', outcome: 'smtp_5xx', status: 550 }],
    ['RCPT', '550 no', { kind: 'failed', outcome: 'smtp_5xx', status: 550 }],
    ['RCPT', '550 5.1.1 unknown', { kind: 'gone', outcome: 'gone', status: 550 }],
    ['RCPT', '550-5.1.1 un\r\n550 5.1.1 known', { kind: 'gone', outcome: 'gone', status: 550 }],
    ['RCPT', '553 5.1.8 bad sender', { kind: 'failed', outcome: 'smtp_5xx', status: 553 }],
    ['DATA', '452 4.3.1 full', { kind: 'failed', outcome: 'smtp_4xx', status: 452 }],
    ['message', '554 5.1.1 spam', { kind: 'failed', outcome: 'smtp_5xx', status: 554 }],
    ['greeting', 'HTTP/1.1 400 Bad Request', { kind: 'failed', outcome: 'malformed' }],
    ['greeting', 'drop', { kind: 'failed', outcome: 'reset', status: null }],
    ['DATA', 'drop', { kind: 'failed', outcome: 'reset', status: null }],
    ['message', 'drop', { kind: 'failed', outcome: 'reset', status: null }],
  ])('at %s with "%s" gives a result that fits', async (step, answer, result) => {
    const { send } = await fixture({ [step]: answer })

    expect(await send()).toMatchObject(result)
  })

  it.each(['greeting', 'EHLO', 'RCPT', 'DATA', 'message'])(
    'to answer at %s is left at the deadline',
    async (step) => {
      const { send } = await fixture({ [step]: 'hang' }, { deadlineMs: 100 })

      expect(await send()).toEqual({ kind: 'failed', outcome: 'timeout', status: null, answer: '' })
    },
  )

  it('leaves neither the address nor the secrets of the operator in the answer', async () => {
    const text = '550 5.7.1 <ANA@agency.example> \u001b[2J operator-secret'
    const refused = await (await fixture({ RCPT: text })).send()
    const { server } = await fixture({ AUTH: '535 5.7.8 the user me is unknown' })
    const login = await fixture({}, { smtpUrl: `smtp://me:password@127.0.0.1:${server.port}` })

    expect(refused).toMatchObject({ answer: '550 5.7.1 <[redacted]> [2J [redacted]' })
    expect(await login.send()).toEqual({ kind: 'failed', outcome: 'auth', status: 535, answer: '' })
  })

  it('to encrypt gets no password, unless it is named as this machine', async () => {
    const { server } = await fixture({ STARTTLS: '502 5.5.1 no' })
    const { send } = await fixture({}, { smtpUrl: `smtp://me:password@0.0.0.0:${server.port}` })

    expect(await send()).toMatchObject({ kind: 'failed', outcome: 'tls' })
    expect(server.commands).toContain('STARTTLS')
    expect(server.commands.filter((line) => line.startsWith('AUTH'))).toEqual([])
  })
})

describe('the address of an e-mail', () => {
  const rules = {
    smtpUrl: 'smtp://mail.example',
    from: 'fares@seller.example',
  }
  it.each([
    ['ana@agency.example', undefined],
    ["O'Brien+fares@AGENCY.example", undefined],
    ['agency.example', 'must be an e-mail address'],
    ['ana@agency.example\r\nBcc: x@evil.example', 'must be an e-mail address'],
    ['ana@agency.example, x@evil.example', 'must be an e-mail address'],
    ['<x@evil.example>ana@agency.example', 'must be an e-mail address'],
    ['"x@evil.example> "@agency.example', 'must be an e-mail address'],
    ['x%evil.example@agency.example', 'must be an e-mail address'],
    ['evil.example!x@agency.example', 'must be an e-mail address'],
    ['ana@аgency.example', 'must be an e-mail address'],
    [`${'a'.repeat(65)}@agency.example`, 'must be an e-mail address'],
    ['ana@127.0.0.1', 'must be an e-mail address'],
  ])('%s has the fault %s', (address, fault) => {
    const found = emailFault(address, rules)
    if (fault === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(fault)
  })

  it('is refused while the operator has not set up e-mail', () => {
    expect(emailFault(ADDRESS, { ...rules, smtpUrl: undefined })).toContain('SMTP_URL')
    expect(emailFault(ADDRESS, { ...rules, from: undefined })).toContain('EMAIL_FROM')
  })
})
