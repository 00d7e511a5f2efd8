import type { FastifyInstance, FastifyReply } from 'fastify'
import { sendProblem } from '../../http/problems.ts'
import type { ActiveFault, FaultLayer } from '../faults/fault-layer.ts'
import {
  type CheckedRule,
  FAULT_NAMES,
  isFaultName,
  readRules,
  SandboxFaultError,
} from '../faults/fault-rule.ts'

/** The faults in force can be seen and changed while the sandbox runs. Each answers with those that hold then. */
export function faultEndpoints(server: FastifyInstance, faults: FaultLayer): void {
  const path = '/sandbox/faults'
  const active = () => ({ faults: faults.active().map(viewFault) })
  const applied = (reply: FastifyReply, given: unknown, apply: (r: CheckedRule[]) => void) => {
    try {
      apply(readRules(given))
    } catch (err) {
      if (!(err instanceof SandboxFaultError)) throw err
      return sendProblem(reply, { status: 400, code: err.code, title: err.message })
    }
    return active()
  }

  server.get(path, active)

  server.put(path, (request, reply) => applied(reply, request.body, faults.set))

  server.post(path, (request, reply) => applied(reply, [request.body], faults.add))

  server.delete(path, () => {
    faults.set([])
    return active()
  })

  server.delete(`${path}/:name`, (request, reply) => {
    const { name } = request.params as { readonly name: string }
    if (faults.remove(name) > 0) return active()
    const title = isFaultName(name)
      ? `no fault rule ${name} holds`
      : `no fault has this name; they are ${FAULT_NAMES.join(', ')}`
    return sendProblem(reply, { status: 404, code: 'not_found', title })
  })
}

/** In the form in which a rule is set, with what became of it. */
function viewFault({ rule, endsAt, requests, struck }: ActiveFault): object {
  const { name, endpoint, probability, durationSeconds, parameters } = rule
  const duration = durationSeconds === undefined ? {} : { durationSeconds }
  return { name, endpoint, probability, ...duration, ...parameters, endsAt, requests, struck }
}
