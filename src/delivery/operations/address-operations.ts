import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AppError } from '../../platform/base/errors.ts'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { isProblemCode, PROBLEMS } from '../../platform/http/problem-codes.ts'
import { object } from '../../platform/http/schemas.ts'
import {
  confirmAddress,
  findLinked,
  type LinkedAddress,
  subscribeAgain,
  unsubscribeAddress,
} from '../endpoints/address-links.ts'

const { open } = operations<{ readonly db: Db }>()

export const EXAMPLE_TOKENS = {
  confirm: 'q3vLrYb0kXo2mT8dZ1uWc7Hs',
  unsubscribe: 'Jw5nE9aPfR4sVt6yBg0hKd2x',
}

const HTML = 'text/html; charset=utf-8'
const common = {
  tag: 'E-mail',
  scope: 'read',
  params: object({
    token: Type.String({ maxLength: 200, description: 'From a link in an e-mail.' }),
  }),
  answer: { about: 'A page.', type: HTML },
  problems: ['delivery.link_gone'],
} as const
const confirmation = {
  ...common,
  path: '/api/v1/email/confirm/{token}',
  example: { params: { token: EXAMPLE_TOKENS.confirm } },
} as const
const ending = {
  ...common,
  path: '/api/v1/email/unsubscribe/{token}',
  example: { params: { token: EXAMPLE_TOKENS.unsubscribe } },
} as const

const askToConfirm = open({
  ...confirmation,
  id: 'showEmailConfirmation',
  method: 'GET',
  summary: 'Show the button that confirms an e-mail address',
  description: 'It changes nothing, because programs that scan e-mail open each link.',
  handler: ({ db }, asked) =>
    answer(asked, async ({ token }) => {
      const { shown, reseller } = await findLinked(db, 'confirm', token)
      return {
        title: 'Confirm this address?',
        text: `The account “${reseller}” wants to send changes of the fares that it watches to ${shown}.`,
        button: { label: 'Confirm' },
      }
    }),
})

const confirm = open({
  ...confirmation,
  id: 'confirmEmailAddress',
  method: 'POST',
  form: true,
  summary: 'Confirm an e-mail address, once',
  description:
    'The link is valid for 24 hours. The endpoints that wait for the address continue where they stopped.',
  handler: ({ db }, asked) =>
    answer(asked, async ({ token }) => {
      const { shown, reseller } = await confirmAddress(db, token)
      return {
        title: 'Confirmed',
        text: `Changes of the fares that the account “${reseller}” watches are sent to ${shown} from now on. Each message has a link to end them.`,
      }
    }),
})

const askToEnd = open({
  ...ending,
  id: 'showEmailUnsubscription',
  method: 'GET',
  summary: 'Show the button that ends the messages to an e-mail address',
  handler: ({ db }, asked) =>
    answer(asked, async ({ token }) => {
      const found = await findLinked(db, 'unsubscribe', token)
      if (found.state === 'unsubscribed') return endedPage(found, token)
      const { shown, reseller } = found
      return {
        title: 'End these messages?',
        text: `The account “${reseller}” will send nothing more to ${shown}.`,
        button: { label: 'Unsubscribe' },
      }
    }),
})

const unsubscribe = open({
  ...ending,
  id: 'unsubscribeEmailAddress',
  method: 'POST',
  form: true,
  summary: 'End the messages to an e-mail address',
  description:
    'Mail programs post here when their user presses "Unsubscribe" (RFC 8058). Nothing is sent until the owner of the address ' +
    'has confirmed it again.',
  handler: ({ db }, asked) =>
    answer(asked, async ({ token }) => endedPage(await unsubscribeAddress(db, token), token)),
})

const subscribe = open({
  ...common,
  path: '/api/v1/email/subscribe/{token}',
  example: { params: { token: EXAMPLE_TOKENS.unsubscribe } },
  id: 'subscribeEmailAddressAgain',
  method: 'POST',
  form: true,
  summary: 'Send the owner of an address that has unsubscribed a link to confirm it again',
  problems: [...common.problems, 'quota.confirmations'],
  handler: ({ db }, asked) =>
    answer(asked, async ({ token }) => {
      const { state, shown, reseller } = await subscribeAgain(db, token)
      if (state === 'confirmed') return { title: 'Confirmed', text: `${shown} receives messages.` }
      return {
        title: 'Open the link in the next message',
        text: `If the account “${reseller}” still sends to ${shown}, a message with a link to confirm the address is on its way.`,
      }
    }),
})

/** The operations of the links in e-mail. */
export const ADDRESS_OPERATIONS = [askToConfirm, confirm, askToEnd, unsubscribe, subscribe]

interface Page {
  readonly title: string
  readonly text: string
  /** Posts to the page itself, unless it names another. */
  readonly button?: { readonly label: string; readonly to?: string }
}

function endedPage({ shown, reseller }: LinkedAddress, token: string): Page {
  return {
    title: 'Unsubscribed',
    text: `The account “${reseller}” sends nothing more to ${shown}.`,
    button: { label: 'Receive messages again', to: `../subscribe/${token}` },
  }
}

interface Asked {
  readonly params: { readonly token: string }
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** People receive a refusal as a page too, and programs as a problem. */
async function answer(
  { params, request, reply }: Asked,
  work: (params: Asked['params']) => Promise<Page>,
): Promise<FastifyReply> {
  const send = (page: Page) => reply.header('content-security-policy', POLICY).send(htmlOf(page))
  try {
    return send(await work(params))
  } catch (err) {
    const readsHtml = request.headers.accept?.includes('text/html') === true
    if (!readsHtml || !(err instanceof AppError) || !isProblemCode(err.code)) throw err
    const { status, title } = PROBLEMS[err.code]
    reply.code(status)
    return send({ title, text: `${capitalized(err.message)}.` })
  }
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
const STYLE = `
:root { color-scheme: light dark }
body { font: 1.05rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1.2rem; overflow-wrap: anywhere }
h1 { font-size: 1.5rem; line-height: 1.25 }
button { font: inherit; padding: 0.6rem 1.4rem; border: 0; border-radius: 0.4rem; background: #1d5fbf; color: #fff; cursor: pointer }
button:focus-visible { outline: 3px solid #7fb0ff; outline-offset: 2px }
`

/** A word joiner keeps the two parts of a shown address on one line. */
function htmlOf({ title, text, button }: Page): string {
  const form =
    button === undefined
      ? ''
      : `<form method="post"${button.to === undefined ? '' : ` action="${escaped(button.to)}"`}><button>${escaped(button.label)}</button></form>\n`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(text).replaceAll('…@', '…&#8288;@')}</p>
${form}</main>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
}
