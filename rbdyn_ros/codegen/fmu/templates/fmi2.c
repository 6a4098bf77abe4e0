/* The functions of FMI 2.0 for co-simulation. */

typedef int fmi2Boolean;
typedef unsigned int fmi2ValueReference;
typedef int fmi2Status;
typedef void (*fmi2Logger)(void*, const char*, fmi2Status, const char*, const char*, ...);
typedef struct {
    fmi2Logger logger;
    void* (*allocate)(size_t, size_t);
    void (*release)(void*);
    void (*stepFinished)(void*, fmi2Status);
    void* environment;
} fmi2Callbacks;

static void say(Instance* robot, const char* text) {
    const fmi2Callbacks* calls = (const fmi2Callbacks*)robot->callbacks;
    if (calls != NULL && calls->logger != NULL) {
        calls->logger(calls->environment, robot->name, ERROR_STATUS, "error", "%s", text);
    }
}

EXPORT const char* fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char* fmi2GetVersion(void) { return "2.0"; }
EXPORT int fmi2SetDebugLogging(void* c, int on, size_t n, const char* const names[]) {
    (void)c; (void)on; (void)n; (void)names;
    return OK;
}
EXPORT void* fmi2Instantiate(const char* name, int type, const char* guid, const char* place,
                             const fmi2Callbacks* calls, int visible, int logging) {
    (void)place; (void)visible; (void)logging;
    if (type != 1 || guid == NULL || strcmp(guid, TOKEN) != 0) { return NULL; }
    return instance(name, calls);
}
EXPORT void fmi2FreeInstance(void* c) { release(c); }
EXPORT int fmi2SetupExperiment(void* c, int limited, double tolerance, double start, int ends,
                               double stop) {
    (void)limited; (void)tolerance; (void)ends; (void)stop;
    ((Instance*)c)->time = start;
    return OK;
}
EXPORT int fmi2EnterInitializationMode(void* c) { (void)c; return OK; }
EXPORT int fmi2ExitInitializationMode(void* c) { begin(c); return OK; }
EXPORT int fmi2Terminate(void* c) { (void)c; return OK; }
EXPORT int fmi2Reset(void* c) { reset(c); return OK; }
EXPORT int fmi2GetReal(void* c, const unsigned int r[], size_t n, double x[]) {
    return get(c, r, n, x, n);
}
EXPORT int fmi2SetReal(void* c, const unsigned int r[], size_t n, const double x[]) {
    return set(c, r, n, x, n);
}
#define NONE(name, T)                                                                            \
    EXPORT int fmi2Get##name(void* c, const unsigned int r[], size_t n, T x[]) {                 \
        (void)r; (void)x;                                                                        \
        return none(c, n);                                                                       \
    }                                                                                            \
    EXPORT int fmi2Set##name(void* c, const unsigned int r[], size_t n, const T x[]) {           \
        (void)r; (void)x;                                                                        \
        return none(c, n);                                                                       \
    }
NONE(Integer, int)
NONE(Boolean, int)
NONE(String, char*)
EXPORT int fmi2GetFMUstate(void* c, void** state) { return save(c, state); }
EXPORT int fmi2SetFMUstate(void* c, void* state) { return load(c, state); }
EXPORT int fmi2FreeFMUstate(void* c, void** state) { return drop(c, state); }
EXPORT int fmi2SerializedFMUstateSize(void* c, void* s, size_t* n) {
    (void)s; (void)n;
    return none(c, 1);
}
EXPORT int fmi2SerializeFMUstate(void* c, void* s, char b[], size_t n) {
    (void)s; (void)b;
    return none(c, n + 1);
}
EXPORT int fmi2DeSerializeFMUstate(void* c, const char b[], size_t n, void** s) {
    (void)b; (void)s;
    return none(c, n + 1);
}
EXPORT int fmi2GetDirectionalDerivative(void* c, const unsigned int u[], size_t nu,
                                        const unsigned int k[], size_t nk, const double d[],
                                        double out[]) {
    (void)u; (void)k; (void)d; (void)out;
    return none(c, nu + nk + 1);
}
EXPORT int fmi2SetRealInputDerivatives(void* c, const unsigned int r[], size_t n, const int o[],
                                       const double x[]) {
    (void)r; (void)o; (void)x;
    return none(c, n + 1);
}
EXPORT int fmi2GetRealOutputDerivatives(void* c, const unsigned int r[], size_t n, const int o[],
                                        double x[]) {
    (void)r; (void)o; (void)x;
    return none(c, n + 1);
}
EXPORT int fmi2DoStep(void* c, double now, double step, int keeps) {
    (void)keeps;
    return advance(c, now, step);
}
EXPORT int fmi2CancelStep(void* c) { return none(c, 1); }
#define NO_STATUS(name, T)                                                                       \
    EXPORT int fmi2Get##name##Status(void* c, int kind, T* x) {                                  \
        (void)kind; (void)x;                                                                     \
        return none(c, 1);                                                                       \
    }
EXPORT int fmi2GetStatus(void* c, int kind, int* x) { (void)kind; (void)x; return none(c, 1); }
NO_STATUS(Real, double)
NO_STATUS(Integer, int)
NO_STATUS(Boolean, int)
NO_STATUS(String, const char*)
