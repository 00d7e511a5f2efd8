import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { findSecret, SEARCHED_SECRET } from './secret-search.ts'

const base64At = (offset: number, encoding: 'base64' | 'base64url' = 'base64') =>
  Buffer.from(`${'x'.repeat(offset)}${SEARCHED_SECRET} and more`).toString(encoding)

it.for([
  ['itself', SEARCHED_SECRET],
  [
    'in the query of an address',
    `/verify?${new URLSearchParams({ accessToken: SEARCHED_SECRET })}`,
  ],
  ['percent-encoded twice', encodeURIComponent(encodeURIComponent(SEARCHED_SECRET))],
  ['in JSON in JSON', JSON.stringify(JSON.stringify({ token: SEARCHED_SECRET }))],
  ['cut off', SEARCHED_SECRET.slice(0, -4)],
  ...[0, 1, 2, 3, 4].map((offset) => [`in base64 at ${offset}`, base64At(offset)] as const),
  ['in base64url', base64At(1, 'base64url')],
  ['in hexadecimal', `\\x${Buffer.from(SEARCHED_SECRET).toString('hex')}`],
  ['in bytes', Buffer.from(`{"token":"${SEARCHED_SECRET}"}`)],
  ['in gzip', gzipSync(JSON.stringify({ token: SEARCHED_SECRET }))],
  ['in base64 in gzip', gzipSync(base64At(2))],
] as const)('the search finds the secret %s', ([, content]) => {
  const found = findSecret([
    { where: 'elsewhere', content: 'CANARY is a bird' },
    { where: 'here', content },
  ])

  expect(found).toHaveLength(1)
  expect(found[0]).toMatch(/^here: /)
})
