import { expect, it } from 'vitest'
import { type Answer, answering, json } from './answering-server.ts'
import { CANARY, clientOf } from './client-fixture.ts'
import { question } from './verify-fixtures.ts'

const HTML = { 'content-type': 'text/html; charset=utf-8' }
const { signal } = new AbortController()

function page(form: string): string {
  return `<!doctype html><html><head><title>Sign in</title></head><body>${form}</body></html>`
}

function redirect(location: string): Answer {
  return (_request, response) => response.writeHead(302, { location }).end()
}

it.each<[string, Answer]>([
  ['a form', json(page('<form><input type="password" name="p"></form>'), HTML)],
  ['a form of another hand', json(page("<INPUT name=p\n TYPE = 'Password'/>"), HTML)],
  ['a redirect to /login', redirect('/login?next=%2Fapi')],
  ['a redirect to a sign-in', redirect('https://accounts.invalid/v2/sign-in')],
  ['a redirect to auth', redirect('/auth/start')],
])('%s counts as a refusal of the credential', async (_name, answer) => {
  await using server = await answering(answer)
  await using fixture = clientOf(server.url)

  const { outbound } = await fixture.client.verifyFares(question(), { signal })
  const pull = fixture.pull()

  await expect(pull).rejects.toMatchObject({
    code: 'upstream.auth',
    message: expect.stringContaining('sent a login page'),
  })
  expect(outbound).toEqual({ kind: 'unknown', reason: 'auth' })
  expect(fixture.logLines.join('\n')).not.toContain(CANARY)
})

it.each<[string, Answer, string]>([
  ['a page of maintenance', json(page('<p>type=password</p>'), HTML), 'contract_violation'],
  ['a redirect to elsewhere', redirect('/authors/loginless'), 'redirect'],
  ['a redirect to nowhere', redirect('http://'), 'redirect'],
])('%s does not count as a refusal of the credential', async (_name, answer, code) => {
  await using server = await answering(answer)
  await using fixture = clientOf(server.url)

  await expect(fixture.pull()).rejects.toMatchObject({ code: `upstream.${code}` })
})

it('a page of nothing but beginnings of fields is searched in linear time', async () => {
  // A search in quadratic time would not end within this test.
  await using server = await answering(json('<input '.repeat(300_000), HTML))
  await using fixture = clientOf(server.url)

  await expect(fixture.pull()).rejects.toMatchObject({ code: 'upstream.contract_violation' })
})
