// SPDX-License-Identifier: MIT
// Reads a list of Kubernetes objects, as JSON, and holds each against its type of kubernetes-models.
// What does not fit is a line each; nothing is good. node types.cjs NODE_MODULES <objects.json
const { createRequire } = require('module');
const path = require('path');
const from = createRequire(path.join(path.resolve(process.argv[2]), 'x.js'));
const FIELDS = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'data', 'status', 'type']);

// The types' validators pass over keys that they do not know, so those are what they never look at.
function watched(value, at, unread) {
    if (value === null || typeof value !== 'object') return value;
    const inside = {};
    if (!Array.isArray(value)) for (const key of Object.keys(value)) unread.add(`${at}/${key}`);
    return new Proxy(value, {
        get(target, key) {
            if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return target[key];
            unread.delete(`${at}/${key}`);
            if (!Array.isArray(target) || /^\d+$/.test(key)) return inside[key] ??= watched(target[key], `${at}/${key}`, unread);
            return target[key];
        },
    });
}

for (const object of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
    const name = `${object.kind} ${object.metadata && object.metadata.name}`;
    try {
        const unread = new Set();
        const Type = from(`kubernetes-models/${object.apiVersion}`)[object.kind];
        const model = new Type();
        for (const key of Object.keys(object)) {
            if (!FIELDS.has(key)) unread.add(`/${key}`);
            model[key] = watched(object[key], `/${key}`, unread);
        }
        model.validate();
        for (const at of unread) console.log(`${name}: no such key, ${at}`);
    } catch (error) {
        console.log(`${name}: ${error.message}`);
    }
}
