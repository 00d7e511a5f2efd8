import { useResource } from '../hooks.js'
import { html } from '../html.js'
import { Loaded } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'
import { Age } from '../times.js'

/** A reseller's own keys. An operator makes and revokes them. */
export function KeysPanel() {
  const keys = useResource(() => callApi('/own-keys').then(({ items }) => items), [])
  return html`<details class="panel"><summary>${texts.keys.title}</summary>
    <${Loaded} of=${keys}>${(/** @type {any[]} */ items) =>
      items.length === 0
        ? html`<p class="muted">${texts.keys.none} <code>${texts.keys.command}</code>.</p>`
        : html`<ul class="plain-list">${items.map(
            ({ prefix, scopes, lastUsedAt, revokedAt, expiresAt }) => html`<li>
              <code>${prefix}…</code> ${scopes.join(', ')}
              <span class="muted">${revokedAt ? texts.keys.revoked : expiresAt ? html`${texts.keys.ends} <${Age} at=${expiresAt} />` : html`${texts.keys.used} <${Age} at=${lastUsedAt} none=${texts.never} />`}</span>
            </li>`,
          )}</ul>`}<//>
  </details>`
}
