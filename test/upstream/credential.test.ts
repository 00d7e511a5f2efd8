import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { createCredential } from '../../src/upstream/transport/http-exchange.ts'

const TOKEN = 'CANARY&=+/é'

it('the token becomes a query parameter of the path', () => {
  const credential = createCredential(TOKEN)

  expect(credential.authorize('/verify')).toBe('/verify?accessToken=CANARY%26%3D%2B%2F%C3%A9')
  expect(credential.authorize('/verify?flightId=1')).toMatch(/^\/verify\?flightId=1&accessToken=/)
})

it.each([undefined, ''])('the token %j leaves the path unchanged', (token) => {
  expect(createCredential(token).authorize('/verify?flightId=1')).toBe('/verify?flightId=1')
})

it('no way of printing a credential shows its token', () => {
  const credential = createCredential(TOKEN)

  const shown = [
    inspect(credential, { depth: Infinity, showHidden: true, getters: true }),
    JSON.stringify(credential),
    String(credential),
    JSON.stringify(Object.entries(credential)),
    credential.authorize.toString(),
  ]

  expect(shown.join('\n')).not.toContain('CANARY')
})

it('a replaced token is used from the next call on, and is as hidden as the first', () => {
  const credential = createCredential(TOKEN)

  credential.replace('another-token')

  expect(credential.authorize('/verify')).toBe('/verify?accessToken=another-token')
  expect(inspect(credential, { showHidden: true, depth: null })).not.toContain('another-token')
})
