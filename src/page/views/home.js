import { useEffect, useState } from 'preact/hooks'
import { typed, useResource } from '../hooks.js'
import { Badge, Failure, Form, failureText, html, useAction } from '../parts.js'
import { callApi, callerOf, ProblemError, saveKeys, signOut } from '../session.js'
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
    <p class="lead">${t.what}</p>
    ${
      freshness.error
        ? html`<p><${Badge} level="bad">${t.unknown}<//></p>`
        : freshness.data && html`<p><${Freshness} facts=${freshness.data} /></p>`
    }
    ${error && html`<${Failure} error=${error} onRetry=${() => location.reload()} />`}
    <p>${t.linkHint} <code>${t.linkCommand}</code>.</p>
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
  return html`<nav class="links" aria-label=${t.links}>
    <a href="/docs">${t.docs}</a>
    <a href="/docs/runbooks">${t.runbooks}</a>
    <a href="/openapi.json">${t.openapi}</a>
    <span><code>/metrics</code> ${t.metrics} <code>ADMIN_PORT</code></span>
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
  if (routesAgeSeconds === null) return html`<${Badge} level="idle">${t.noList}<//>`
  const fares = faresAgeSeconds === null ? null : durationText(faresAgeSeconds)
  const sentence = t.fresh(durationText(routesAgeSeconds), fares)
  return html`<${Badge} level=${routesAgeSeconds > OLD_SECONDS ? 'warn' : 'good'}>${sentence}<//>`
}

/** @param {{ onEnter: () => void }} props */
function KeyForm({ onEnter }) {
  const [key, setKey] = useState('')
  const enter = async () => {
    // A header cannot carry other letters, and no key has them.
    const caller = /^[\x21-\x7e]+$/.test(key.trim()) ? await callerOf(key.trim()) : null
    if (caller === null) throw new ProblemError(401, { detail: t.badKey })
    saveKeys({ [caller.kind]: key.trim() }, { thisTabAlone: true })
    onEnter()
  }
  return html`<${Form} kind="key-form" label=${t.open} disabled=${key.trim() === ''} send=${enter}>
    <label for="key">${t.key}</label>
    <input id="key" type="password" autocomplete="off" spellcheck=${false} value=${key}
      onInput=${typed(setKey)} />
    <p class="help">${t.keyHint}</p>
  <//>`
}

/**
 * Exchanges the code of a link for keys. A page that has keys asks before it replaces them.
 * @param {{ code: string, caller: import('../session.js').Caller | null, onEnter: () => void }} props
 */
export function SignInView({ code, caller, onEnter }) {
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
    if (caller === null) run(signIn)
  }, [code])
  return html`<${Front}>
    ${
      error
        ? html`<p role="alert"><${Badge} level="bad">${failureText(error)}<//></p>`
        : caller === null
          ? html`<p role="status">${t.signingIn}</p>`
          : html`<p>${t.replace(whoIs(caller))}</p>
              <button type="button" class="primary" onClick=${() => run(signIn)}>${t.replaceKeys}</button>`
    }
    ${(error || caller !== null) && html`<p><button type="button" onClick=${onEnter}>${caller === null ? t.signIn : t.keepKeys}</button></p>`}
  <//>`
}

/** @param {import('../session.js').Caller} caller */
export function whoIs({ isOperator, reseller }) {
  return [isOperator ? texts.operator : null, reseller].filter((name) => name !== null).join(' + ')
}
