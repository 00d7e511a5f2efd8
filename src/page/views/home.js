import { useEffect } from 'preact/hooks'
import { useResource } from '../hooks.js'
import { Badge, Failure, Field, Form, failureText, html, useAction } from '../parts.js'
import { callApi, caller, callerOf, ProblemError, saveKeys, signOut } from '../session.js'
import { texts } from '../texts.js'
import { durationText, zoneText } from '../times.js'

const t = texts.home

/** Lists are fetched at least once a day. */
const OLD_SECONDS = 26 * 3600

/**
 * What this is, how fresh it is, and the way in.
 * @param {{ onEnter: () => void, error?: Error }} props
 */
export function HomeView({ onEnter, error }) {
  const freshness = useResource(readFreshness, [], { everyMs: 10_000 })
  return html`<${Front}>
    <p class="lead">The history of every flight route, and a record each time a watched fare becomes bookable, sells out, or changes its price or itinerary.</p>
    ${
      freshness.error
        ? html`<p><${Badge} level="bad">The page could not read how fresh the data is.<//></p>`
        : freshness.data && html`<p><${Freshness} facts=${freshness.data} /></p>`
    }
    ${error && html`<${Failure} error=${error} onRetry=${() => location.reload()} />`}
    <p>To sign in, open the link that npm start prints, or that of <code>bin/farewatch keys link</code>.</p>
    <${KeyForm} onEnter=${onEnter} />
    <${Links} />
  <//>`
}

/** @param {{ children?: unknown }} props */
function Front({ children }) {
  return html`<main class="home">
    <img src="/assets/icon.svg" alt="" width="56" height="56" />
    <h1>${texts.name}</h1>
    ${children}
  </main>`
}

/** Where to read on, and what all views share. The page does not know the address of the admin port. */
export function Links() {
  return html`<nav class="links" aria-label="More">
    <a href="/docs">API reference</a>
    <a href="/docs/runbooks">Runbooks</a>
    <a href="/openapi.json">OpenAPI document</a>
    <span><code>/metrics</code> on the admin port, <code>ADMIN_PORT</code></span>
    <span>${t.clock(zoneText())}</span>
  </nav>`
}

async function readFreshness() {
  const response = await fetch('/freshness')
  if (!response.ok) throw new Error(`status ${response.status}`)
  return response.json()
}

/** @param {{ facts: { routesAgeSeconds: number | null, faresAgeSeconds: number | null } }} props */
function Freshness({ facts: { routesAgeSeconds, faresAgeSeconds } }) {
  if (routesAgeSeconds === null)
    return html`<${Badge} level="idle">No list of routes has arrived yet.<//>`
  const fares = faresAgeSeconds === null ? null : durationText(faresAgeSeconds)
  const sentence = t.fresh(durationText(routesAgeSeconds), fares)
  return html`<${Badge} level=${routesAgeSeconds > OLD_SECONDS ? 'warn' : 'good'}>${sentence}<//>`
}

/** @param {{ onEnter: () => void }} props */
function KeyForm({ onEnter }) {
  const enter = async (/** @type {Record<string, string>} */ { key = '' }) => {
    // A header cannot carry other letters, and no key has them.
    const found = /^[\x21-\x7e]+$/.test(key) ? await callerOf(key) : null
    if (found === null) throw new ProblemError(401, { detail: 'This key is not valid.' })
    saveKeys({ [found.kind]: key }, { thisTabAlone: true })
    onEnter()
  }
  return html`<${Form} kind="key-form" label="Open" send=${enter}>
    <${Field} label="Or enter a key" name="key" type="password" autocomplete="off" required />
    <p class="help">It begins with fwk_ and stays in this tab alone.</p>
  <//>`
}

/**
 * Exchanges the code of a link for keys. A page that has keys asks before it replaces them.
 * @param {{ code: string, isKnown: boolean, onEnter: () => void }} props
 */
export function SignInView({ code, isKnown, onEnter }) {
  const { error, run } = useAction()
  const signIn = async () => {
    const { keys } = await callApi('/sign-in', { method: 'POST', body: { code } })
    const byKind = keys.map((/** @type {{ kind: string, key: string }} */ given) => [
      given.kind,
      given.key,
    ])
    await signOut()
    saveKeys(Object.fromEntries(byKind), { thisTabAlone: false })
    onEnter()
  }
  useEffect(() => {
    if (!isKnown) run(signIn)
  }, [code])
  return html`<${Front}>
    ${
      error
        ? html`<p role="alert"><${Badge} level="bad">${failureText(error)}<//></p>`
        : isKnown
          ? html`<p>${t.replace(whoIs())}</p>
              <button type="button" class="primary" onClick=${() => run(signIn)}>Replace the keys</button>`
          : html`<p role="status">Signing in …</p>`
    }
    ${(error || isKnown) && html`<p><button type="button" onClick=${onEnter}>${isKnown ? 'Keep the present ones' : 'Sign in'}</button></p>`}
  <//>`
}

/** The names of the caller. */
export function whoIs() {
  const { isOperator, reseller } = caller
  return [isOperator ? 'operator' : null, reseller].filter((name) => name !== null).join(' + ')
}
