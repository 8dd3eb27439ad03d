/** Names of tools, skills, models and personas that a form can suggest. */

/** Names for suggestions, by the last part of a setting's key. */
export function knownNames(catalog) {
    if (catalog === null) return {};
    return {
        tools: catalog.tools.map((tool) => tool.name),
        skills: catalog.skills.map((skill) => skill.name ?? skill),
        personas: catalog.personas.map((persona) => persona.id ?? persona),
        persona_id: catalog.personas.map((persona) => persona.id ?? persona),
        provider_id: catalog.providers.map((provider) => provider.id),
        default_provider_id: catalog.providers.map((provider) => provider.id),
        default_tool_filter: catalog.filters,
    };
}
