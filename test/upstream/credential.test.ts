import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { FARES_PROVIDER } from '../../src/upstream/fares/fares-provider.ts'
import { createCredential } from '../../src/upstream/transport/http-exchange.ts'

const TOKEN = 'CANARY&=+/é'
const { placeToken } = FARES_PROVIDER

function pathOf(credential: ReturnType<typeof createCredential>, path: string): string {
  return credential.authorize({ path, headers: {} }).path
}

it('the token becomes a query parameter of the path', () => {
  const credential = createCredential(TOKEN, placeToken)

  expect(pathOf(credential, '/verify')).toBe('/verify?accessToken=CANARY%26%3D%2B%2F%C3%A9')
  expect(pathOf(credential, '/verify?flightId=1')).toMatch(/^\/verify\?flightId=1&accessToken=/)
})

it('a token in a header is added to the headers of the request', () => {
  const inHeader = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const credential = createCredential('one', inHeader)

  const authorized = credential.authorize({ path: '/verify', headers: { accept: 'text/csv' } })

  const headers = { accept: 'text/csv', authorization: 'Bearer one' }
  expect(authorized).toEqual({ path: '/verify', headers })
})

it.each([undefined, ''])('the token %j leaves the path unchanged', (token) => {
  expect(pathOf(createCredential(token, placeToken), '/verify?flightId=1')).toBe(
    '/verify?flightId=1',
  )
})

it('no way of printing a credential shows its token', () => {
  const credential = createCredential(TOKEN, placeToken)

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
  const credential = createCredential(TOKEN, placeToken)

  credential.replace('another-token')

  expect(pathOf(credential, '/verify')).toBe('/verify?accessToken=another-token')
  expect(inspect(credential, { showHidden: true, depth: null })).not.toContain('another-token')
})
