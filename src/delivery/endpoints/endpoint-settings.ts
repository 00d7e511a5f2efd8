import type { EndpointFormat } from '../../platform/base/kinds.ts'
import { nameFault, textFault } from '../../platform/base/text.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import type { Digest } from '../formats/digest.ts'
import type { EndpointFilters } from './endpoint-queries.ts'
import { type TargetRules, targetFault } from './endpoint-target.ts'

/** What a reseller decides about an endpoint. */
export interface EndpointSettings extends EndpointFilters {
  readonly target: string
  readonly description: string
  readonly digest: Digest | null
  readonly enabled: boolean
}

export type Given<T> = { readonly [N in keyof T]?: T[N] | undefined }
export type NewEndpoint = Given<EndpointSettings> &
  Pick<EndpointSettings, 'target'> & { readonly format?: EndpointFormat | undefined }

const MAX_DESCRIPTION_CHARS = 200

type Checked = Given<EndpointSettings> & { readonly format: EndpointFormat }

/** Throws a ProblemError that names the first field at fault. What a schema can say is left to the schema. */
export function assertValid(given: Checked, targetRules: TargetRules): void {
  const { description = '', lists } = given
  const found =
    targetFault({ ...given, digest: given.digest ?? null }, targetRules) ??
    faultOf(
      'description',
      description === '' ? undefined : textFault(description, MAX_DESCRIPTION_CHARS),
    ) ??
    faultOf(
      'lists',
      lists?.map(nameFault).find((fault) => fault !== undefined),
    )
  if (found === undefined) return
  throw new ProblemError('request.invalid_body', {
    pointer: `/${found.field}`,
    detail: `${found.field} ${found.fault}`,
  })
}

function faultOf(field: string, fault: string | undefined) {
  return fault === undefined ? undefined : { field, fault }
}
