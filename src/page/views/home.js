import { useState } from 'preact/hooks'
import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Badge, Failure } from '../parts.js'
import { callApi, ProblemError, saveKey } from '../session.js'
import { texts } from '../texts.js'
import { durationText } from '../times.js'

/** Lists are fetched at least once a day. */
const OLD_SECONDS = 26 * 3600

/**
 * What this is, how fresh it is, and the way in.
 * @param {{ onEnter: () => void, error?: Error }} props
 */
export function HomeView({ onEnter, error }) {
  const freshness = useResource(readFreshness, [], {
    everyMs: 10_000,
  })
  return html`<main class="home">
    <img src="/assets/icon.svg" alt="" width="56" height="56" />
    <h1>${texts.name}</h1>
    <p class="lead">${texts.home.what}</p>
    ${
      freshness.error
        ? html`<p><${Badge} level="bad">${texts.home.unknown}<//></p>`
        : freshness.data && html`<p><${Freshness} facts=${freshness.data} /></p>`
    }
    ${error && html`<${Failure} error=${error} onRetry=${() => location.reload()} />`}
    <${KeyForm} onEnter=${onEnter} />
    <${Links} />
  </main>`
}

/** Where to read on. The metrics are served on the admin port, whose address the page does not know. */
export function Links() {
  return html`<nav class="links" aria-label=${texts.home.links}>
    <a href="/docs">${texts.home.docs}</a>
    <a href="/docs/runbooks">${texts.home.runbooks}</a>
    <a href="/openapi.json">${texts.home.openapi}</a>
    <span>${texts.home.metrics} <code>http://127.0.0.1:9091/metrics</code></span>
  </nav>`
}

async function readFreshness() {
  const response = await fetch('/freshness')
  if (!response.ok) throw new Error(`status ${response.status}`)
  return response.json()
}

/** @param {{ facts: { routesAgeSeconds: number | null, faresAgeSeconds: number | null } }} props */
function Freshness({ facts: { routesAgeSeconds, faresAgeSeconds } }) {
  if (routesAgeSeconds === null) return html`<${Badge} level="idle">${texts.home.noList}<//>`
  const routes = durationText(routesAgeSeconds)
  const sentence =
    faresAgeSeconds === null
      ? texts.home.routes(routes)
      : texts.home.routesAndFares(routes, durationText(faresAgeSeconds))
  return html`<${Badge} level=${routesAgeSeconds > OLD_SECONDS ? 'warn' : 'good'}>${sentence}<//>`
}

/** @param {unknown} error */
function messageOf(error) {
  return error instanceof Error ? error.message : String(error)
}

/** @param {unknown} error */
function keyFault(error) {
  if (!(error instanceof ProblemError)) return texts.unreachable(messageOf(error))
  return error.status === 401 ? texts.home.badKey : error.message
}

/** @param {{ onEnter: () => void }} props */
function KeyForm({ onEnter }) {
  const [key, setKey] = useState('')
  const [busy, setBusy] = useState(false)
  const [fault, setFault] = useState('')
  const enter = async () => {
    setFault('')
    // A header cannot carry other letters, and no key has them.
    if (!/^[\x21-\x7e]+$/.test(key.trim())) return setFault(texts.home.badKey)
    setBusy(true)
    saveKey(key.trim())
    try {
      await callApi('/caller')
      onEnter()
    } catch (error) {
      saveKey(null)
      setFault(keyFault(error))
    } finally {
      setBusy(false)
    }
  }
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    void enter()
  }
  return html`<form class="key-form" onSubmit=${submit}>
    <label for="key">${texts.home.key}</label>
    <input id="key" type="password" autocomplete="off" spellcheck=${false} value=${key}
      onInput=${(/** @type {{ currentTarget: HTMLInputElement }} */ e) => setKey(e.currentTarget.value)} />
    <${Action} label=${texts.home.open} kind="primary enter" busy=${busy} disabled=${key.trim() === ''} onClick=${() => void enter()} />
    <p class="help">${texts.home.keyHint} <code>${texts.home.keyCommand}</code>.</p>
    ${fault && html`<p role="alert"><${Badge} level="bad">${fault}<//></p>`}
  </form>`
}
