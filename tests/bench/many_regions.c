/* tests/bench/many_regions.c - what a mini-app looks like to a capture: 300 regions, 100,000 invocations of 0.5 us to 5 ms.
 *
 * Kernels of six kinds work on fields of ten sizes in time steps, as mini-apps do: most are entered in every step, some in every tenth, one
 * in twenty only in the first. `many_regions [INVOCATIONS]` prints a checksum.
 */
#include <stdio.h>
#include <stdlib.h>

#define FIELDS 10
static const int lengths[FIELDS] = {60, 200, 600, 2000, 6000, 15000, 40000, 100000, 400000, 2000000};
static double *field[FIELDS][3];

#define STENCIL (y[i > 0 ? i - 1 : i] + y[i] + y[i < n - 1 ? i + 1 : i]) / 3
#define TRIAD y[i] + 0.1 * z[i]
#define GATHER y[(i * 7L) % n] - z[i]
#define DIVIDE 1 / (1 + y[i] * y[i])
#define BRANCH (y[i] > 1 ? y[i] - 1 : y[i] + z[i] * 0.25)
#define SCALE 0.5 * y[i]

#define KERNEL(name, kind) \
    static void name(int f) \
    { \
        double *restrict x = field[f][0], *restrict y = field[f][1], *restrict z = field[f][2]; \
        int n = lengths[f]; \
        (void)z; \
        _Pragma("omp parallel for") \
        for (int i = 0; i < n; i++) \
            x[i] = kind; \
    }

KERNEL(kernel_000, STENCIL)
KERNEL(kernel_001, TRIAD)
KERNEL(kernel_002, GATHER)
KERNEL(kernel_003, DIVIDE)
KERNEL(kernel_004, BRANCH)
KERNEL(kernel_005, SCALE)
KERNEL(kernel_006, STENCIL)
KERNEL(kernel_007, TRIAD)
KERNEL(kernel_008, GATHER)
KERNEL(kernel_009, DIVIDE)
KERNEL(kernel_010, BRANCH)
KERNEL(kernel_011, SCALE)
KERNEL(kernel_012, STENCIL)
KERNEL(kernel_013, TRIAD)
KERNEL(kernel_014, GATHER)
KERNEL(kernel_015, DIVIDE)
KERNEL(kernel_016, BRANCH)
KERNEL(kernel_017, SCALE)
KERNEL(kernel_018, STENCIL)
KERNEL(kernel_019, TRIAD)
KERNEL(kernel_020, GATHER)
KERNEL(kernel_021, DIVIDE)
KERNEL(kernel_022, BRANCH)
KERNEL(kernel_023, SCALE)
KERNEL(kernel_024, STENCIL)
KERNEL(kernel_025, TRIAD)
KERNEL(kernel_026, GATHER)
KERNEL(kernel_027, DIVIDE)
KERNEL(kernel_028, BRANCH)
KERNEL(kernel_029, SCALE)
KERNEL(kernel_030, STENCIL)
KERNEL(kernel_031, TRIAD)
KERNEL(kernel_032, GATHER)
KERNEL(kernel_033, DIVIDE)
KERNEL(kernel_034, BRANCH)
KERNEL(kernel_035, SCALE)
KERNEL(kernel_036, STENCIL)
KERNEL(kernel_037, TRIAD)
KERNEL(kernel_038, GATHER)
KERNEL(kernel_039, DIVIDE)
KERNEL(kernel_040, BRANCH)
KERNEL(kernel_041, SCALE)
KERNEL(kernel_042, STENCIL)
KERNEL(kernel_043, TRIAD)
KERNEL(kernel_044, GATHER)
KERNEL(kernel_045, DIVIDE)
KERNEL(kernel_046, BRANCH)
KERNEL(kernel_047, SCALE)
KERNEL(kernel_048, STENCIL)
KERNEL(kernel_049, TRIAD)
KERNEL(kernel_050, GATHER)
KERNEL(kernel_051, DIVIDE)
KERNEL(kernel_052, BRANCH)
KERNEL(kernel_053, SCALE)
KERNEL(kernel_054, STENCIL)
KERNEL(kernel_055, TRIAD)
KERNEL(kernel_056, GATHER)
KERNEL(kernel_057, DIVIDE)
KERNEL(kernel_058, BRANCH)
KERNEL(kernel_059, SCALE)
KERNEL(kernel_060, STENCIL)
KERNEL(kernel_061, TRIAD)
KERNEL(kernel_062, GATHER)
KERNEL(kernel_063, DIVIDE)
KERNEL(kernel_064, BRANCH)
KERNEL(kernel_065, SCALE)
KERNEL(kernel_066, STENCIL)
KERNEL(kernel_067, TRIAD)
KERNEL(kernel_068, GATHER)
KERNEL(kernel_069, DIVIDE)
KERNEL(kernel_070, BRANCH)
KERNEL(kernel_071, SCALE)
KERNEL(kernel_072, STENCIL)
KERNEL(kernel_073, TRIAD)
KERNEL(kernel_074, GATHER)
KERNEL(kernel_075, DIVIDE)
KERNEL(kernel_076, BRANCH)
KERNEL(kernel_077, SCALE)
KERNEL(kernel_078, STENCIL)
KERNEL(kernel_079, TRIAD)
KERNEL(kernel_080, GATHER)
KERNEL(kernel_081, DIVIDE)
KERNEL(kernel_082, BRANCH)
KERNEL(kernel_083, SCALE)
KERNEL(kernel_084, STENCIL)
KERNEL(kernel_085, TRIAD)
KERNEL(kernel_086, GATHER)
KERNEL(kernel_087, DIVIDE)
KERNEL(kernel_088, BRANCH)
KERNEL(kernel_089, SCALE)
KERNEL(kernel_090, STENCIL)
KERNEL(kernel_091, TRIAD)
KERNEL(kernel_092, GATHER)
KERNEL(kernel_093, DIVIDE)
KERNEL(kernel_094, BRANCH)
KERNEL(kernel_095, SCALE)
KERNEL(kernel_096, STENCIL)
KERNEL(kernel_097, TRIAD)
KERNEL(kernel_098, GATHER)
KERNEL(kernel_099, DIVIDE)
KERNEL(kernel_100, BRANCH)
KERNEL(kernel_101, SCALE)
KERNEL(kernel_102, STENCIL)
KERNEL(kernel_103, TRIAD)
KERNEL(kernel_104, GATHER)
KERNEL(kernel_105, DIVIDE)
KERNEL(kernel_106, BRANCH)
KERNEL(kernel_107, SCALE)
KERNEL(kernel_108, STENCIL)
KERNEL(kernel_109, TRIAD)
KERNEL(kernel_110, GATHER)
KERNEL(kernel_111, DIVIDE)
KERNEL(kernel_112, BRANCH)
KERNEL(kernel_113, SCALE)
KERNEL(kernel_114, STENCIL)
KERNEL(kernel_115, TRIAD)
KERNEL(kernel_116, GATHER)
KERNEL(kernel_117, DIVIDE)
KERNEL(kernel_118, BRANCH)
KERNEL(kernel_119, SCALE)
KERNEL(kernel_120, STENCIL)
KERNEL(kernel_121, TRIAD)
KERNEL(kernel_122, GATHER)
KERNEL(kernel_123, DIVIDE)
KERNEL(kernel_124, BRANCH)
KERNEL(kernel_125, SCALE)
KERNEL(kernel_126, STENCIL)
KERNEL(kernel_127, TRIAD)
KERNEL(kernel_128, GATHER)
KERNEL(kernel_129, DIVIDE)
KERNEL(kernel_130, BRANCH)
KERNEL(kernel_131, SCALE)
KERNEL(kernel_132, STENCIL)
KERNEL(kernel_133, TRIAD)
KERNEL(kernel_134, GATHER)
KERNEL(kernel_135, DIVIDE)
KERNEL(kernel_136, BRANCH)
KERNEL(kernel_137, SCALE)
KERNEL(kernel_138, STENCIL)
KERNEL(kernel_139, TRIAD)
KERNEL(kernel_140, GATHER)
KERNEL(kernel_141, DIVIDE)
KERNEL(kernel_142, BRANCH)
KERNEL(kernel_143, SCALE)
KERNEL(kernel_144, STENCIL)
KERNEL(kernel_145, TRIAD)
KERNEL(kernel_146, GATHER)
KERNEL(kernel_147, DIVIDE)
KERNEL(kernel_148, BRANCH)
KERNEL(kernel_149, SCALE)
KERNEL(kernel_150, STENCIL)
KERNEL(kernel_151, TRIAD)
KERNEL(kernel_152, GATHER)
KERNEL(kernel_153, DIVIDE)
KERNEL(kernel_154, BRANCH)
KERNEL(kernel_155, SCALE)
KERNEL(kernel_156, STENCIL)
KERNEL(kernel_157, TRIAD)
KERNEL(kernel_158, GATHER)
KERNEL(kernel_159, DIVIDE)
KERNEL(kernel_160, BRANCH)
KERNEL(kernel_161, SCALE)
KERNEL(kernel_162, STENCIL)
KERNEL(kernel_163, TRIAD)
KERNEL(kernel_164, GATHER)
KERNEL(kernel_165, DIVIDE)
KERNEL(kernel_166, BRANCH)
KERNEL(kernel_167, SCALE)
KERNEL(kernel_168, STENCIL)
KERNEL(kernel_169, TRIAD)
KERNEL(kernel_170, GATHER)
KERNEL(kernel_171, DIVIDE)
KERNEL(kernel_172, BRANCH)
KERNEL(kernel_173, SCALE)
KERNEL(kernel_174, STENCIL)
KERNEL(kernel_175, TRIAD)
KERNEL(kernel_176, GATHER)
KERNEL(kernel_177, DIVIDE)
KERNEL(kernel_178, BRANCH)
KERNEL(kernel_179, SCALE)
KERNEL(kernel_180, STENCIL)
KERNEL(kernel_181, TRIAD)
KERNEL(kernel_182, GATHER)
KERNEL(kernel_183, DIVIDE)
KERNEL(kernel_184, BRANCH)
KERNEL(kernel_185, SCALE)
KERNEL(kernel_186, STENCIL)
KERNEL(kernel_187, TRIAD)
KERNEL(kernel_188, GATHER)
KERNEL(kernel_189, DIVIDE)
KERNEL(kernel_190, BRANCH)
KERNEL(kernel_191, SCALE)
KERNEL(kernel_192, STENCIL)
KERNEL(kernel_193, TRIAD)
KERNEL(kernel_194, GATHER)
KERNEL(kernel_195, DIVIDE)
KERNEL(kernel_196, BRANCH)
KERNEL(kernel_197, SCALE)
KERNEL(kernel_198, STENCIL)
KERNEL(kernel_199, TRIAD)
KERNEL(kernel_200, GATHER)
KERNEL(kernel_201, DIVIDE)
KERNEL(kernel_202, BRANCH)
KERNEL(kernel_203, SCALE)
KERNEL(kernel_204, STENCIL)
KERNEL(kernel_205, TRIAD)
KERNEL(kernel_206, GATHER)
KERNEL(kernel_207, DIVIDE)
KERNEL(kernel_208, BRANCH)
KERNEL(kernel_209, SCALE)
KERNEL(kernel_210, STENCIL)
KERNEL(kernel_211, TRIAD)
KERNEL(kernel_212, GATHER)
KERNEL(kernel_213, DIVIDE)
KERNEL(kernel_214, BRANCH)
KERNEL(kernel_215, SCALE)
KERNEL(kernel_216, STENCIL)
KERNEL(kernel_217, TRIAD)
KERNEL(kernel_218, GATHER)
KERNEL(kernel_219, DIVIDE)
KERNEL(kernel_220, BRANCH)
KERNEL(kernel_221, SCALE)
KERNEL(kernel_222, STENCIL)
KERNEL(kernel_223, TRIAD)
KERNEL(kernel_224, GATHER)
KERNEL(kernel_225, DIVIDE)
KERNEL(kernel_226, BRANCH)
KERNEL(kernel_227, SCALE)
KERNEL(kernel_228, STENCIL)
KERNEL(kernel_229, TRIAD)
KERNEL(kernel_230, GATHER)
KERNEL(kernel_231, DIVIDE)
KERNEL(kernel_232, BRANCH)
KERNEL(kernel_233, SCALE)
KERNEL(kernel_234, STENCIL)
KERNEL(kernel_235, TRIAD)
KERNEL(kernel_236, GATHER)
KERNEL(kernel_237, DIVIDE)
KERNEL(kernel_238, BRANCH)
KERNEL(kernel_239, SCALE)
KERNEL(kernel_240, STENCIL)
KERNEL(kernel_241, TRIAD)
KERNEL(kernel_242, GATHER)
KERNEL(kernel_243, DIVIDE)
KERNEL(kernel_244, BRANCH)
KERNEL(kernel_245, SCALE)
KERNEL(kernel_246, STENCIL)
KERNEL(kernel_247, TRIAD)
KERNEL(kernel_248, GATHER)
KERNEL(kernel_249, DIVIDE)
KERNEL(kernel_250, BRANCH)
KERNEL(kernel_251, SCALE)
KERNEL(kernel_252, STENCIL)
KERNEL(kernel_253, TRIAD)
KERNEL(kernel_254, GATHER)
KERNEL(kernel_255, DIVIDE)
KERNEL(kernel_256, BRANCH)
KERNEL(kernel_257, SCALE)
KERNEL(kernel_258, STENCIL)
KERNEL(kernel_259, TRIAD)
KERNEL(kernel_260, GATHER)
KERNEL(kernel_261, DIVIDE)
KERNEL(kernel_262, BRANCH)
KERNEL(kernel_263, SCALE)
KERNEL(kernel_264, STENCIL)
KERNEL(kernel_265, TRIAD)
KERNEL(kernel_266, GATHER)
KERNEL(kernel_267, DIVIDE)
KERNEL(kernel_268, BRANCH)
KERNEL(kernel_269, SCALE)
KERNEL(kernel_270, STENCIL)
KERNEL(kernel_271, TRIAD)
KERNEL(kernel_272, GATHER)
KERNEL(kernel_273, DIVIDE)
KERNEL(kernel_274, BRANCH)
KERNEL(kernel_275, SCALE)
KERNEL(kernel_276, STENCIL)
KERNEL(kernel_277, TRIAD)
KERNEL(kernel_278, GATHER)
KERNEL(kernel_279, DIVIDE)
KERNEL(kernel_280, BRANCH)
KERNEL(kernel_281, SCALE)
KERNEL(kernel_282, STENCIL)
KERNEL(kernel_283, TRIAD)
KERNEL(kernel_284, GATHER)
KERNEL(kernel_285, DIVIDE)
KERNEL(kernel_286, BRANCH)
KERNEL(kernel_287, SCALE)
KERNEL(kernel_288, STENCIL)
KERNEL(kernel_289, TRIAD)
KERNEL(kernel_290, GATHER)
KERNEL(kernel_291, DIVIDE)
KERNEL(kernel_292, BRANCH)
KERNEL(kernel_293, SCALE)
KERNEL(kernel_294, STENCIL)
KERNEL(kernel_295, TRIAD)
KERNEL(kernel_296, GATHER)
KERNEL(kernel_297, DIVIDE)
KERNEL(kernel_298, BRANCH)
KERNEL(kernel_299, SCALE)

static void (*const kernels[])(int) = {
    kernel_000, kernel_001, kernel_002, kernel_003, kernel_004, kernel_005, kernel_006, kernel_007, kernel_008, kernel_009,
    kernel_010, kernel_011, kernel_012, kernel_013, kernel_014, kernel_015, kernel_016, kernel_017, kernel_018, kernel_019,
    kernel_020, kernel_021, kernel_022, kernel_023, kernel_024, kernel_025, kernel_026, kernel_027, kernel_028, kernel_029,
    kernel_030, kernel_031, kernel_032, kernel_033, kernel_034, kernel_035, kernel_036, kernel_037, kernel_038, kernel_039,
    kernel_040, kernel_041, kernel_042, kernel_043, kernel_044, kernel_045, kernel_046, kernel_047, kernel_048, kernel_049,
    kernel_050, kernel_051, kernel_052, kernel_053, kernel_054, kernel_055, kernel_056, kernel_057, kernel_058, kernel_059,
    kernel_060, kernel_061, kernel_062, kernel_063, kernel_064, kernel_065, kernel_066, kernel_067, kernel_068, kernel_069,
    kernel_070, kernel_071, kernel_072, kernel_073, kernel_074, kernel_075, kernel_076, kernel_077, kernel_078, kernel_079,
    kernel_080, kernel_081, kernel_082, kernel_083, kernel_084, kernel_085, kernel_086, kernel_087, kernel_088, kernel_089,
    kernel_090, kernel_091, kernel_092, kernel_093, kernel_094, kernel_095, kernel_096, kernel_097, kernel_098, kernel_099,
    kernel_100, kernel_101, kernel_102, kernel_103, kernel_104, kernel_105, kernel_106, kernel_107, kernel_108, kernel_109,
    kernel_110, kernel_111, kernel_112, kernel_113, kernel_114, kernel_115, kernel_116, kernel_117, kernel_118, kernel_119,
    kernel_120, kernel_121, kernel_122, kernel_123, kernel_124, kernel_125, kernel_126, kernel_127, kernel_128, kernel_129,
    kernel_130, kernel_131, kernel_132, kernel_133, kernel_134, kernel_135, kernel_136, kernel_137, kernel_138, kernel_139,
    kernel_140, kernel_141, kernel_142, kernel_143, kernel_144, kernel_145, kernel_146, kernel_147, kernel_148, kernel_149,
    kernel_150, kernel_151, kernel_152, kernel_153, kernel_154, kernel_155, kernel_156, kernel_157, kernel_158, kernel_159,
    kernel_160, kernel_161, kernel_162, kernel_163, kernel_164, kernel_165, kernel_166, kernel_167, kernel_168, kernel_169,
    kernel_170, kernel_171, kernel_172, kernel_173, kernel_174, kernel_175, kernel_176, kernel_177, kernel_178, kernel_179,
    kernel_180, kernel_181, kernel_182, kernel_183, kernel_184, kernel_185, kernel_186, kernel_187, kernel_188, kernel_189,
    kernel_190, kernel_191, kernel_192, kernel_193, kernel_194, kernel_195, kernel_196, kernel_197, kernel_198, kernel_199,
    kernel_200, kernel_201, kernel_202, kernel_203, kernel_204, kernel_205, kernel_206, kernel_207, kernel_208, kernel_209,
    kernel_210, kernel_211, kernel_212, kernel_213, kernel_214, kernel_215, kernel_216, kernel_217, kernel_218, kernel_219,
    kernel_220, kernel_221, kernel_222, kernel_223, kernel_224, kernel_225, kernel_226, kernel_227, kernel_228, kernel_229,
    kernel_230, kernel_231, kernel_232, kernel_233, kernel_234, kernel_235, kernel_236, kernel_237, kernel_238, kernel_239,
    kernel_240, kernel_241, kernel_242, kernel_243, kernel_244, kernel_245, kernel_246, kernel_247, kernel_248, kernel_249,
    kernel_250, kernel_251, kernel_252, kernel_253, kernel_254, kernel_255, kernel_256, kernel_257, kernel_258, kernel_259,
    kernel_260, kernel_261, kernel_262, kernel_263, kernel_264, kernel_265, kernel_266, kernel_267, kernel_268, kernel_269,
    kernel_270, kernel_271, kernel_272, kernel_273, kernel_274, kernel_275, kernel_276, kernel_277, kernel_278, kernel_279,
    kernel_280, kernel_281, kernel_282, kernel_283, kernel_284, kernel_285, kernel_286, kernel_287, kernel_288, kernel_289,
    kernel_290, kernel_291, kernel_292, kernel_293, kernel_294, kernel_295, kernel_296, kernel_297, kernel_298, kernel_299,
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Small fields are worked on far more often than large ones. */
static int field_of(int kernel)
{
    return kernel % 97 == 96 ? 9 : kernel % 31 == 30 ? 8 : kernel % 8;
}

static int due(int kernel, long step)
{
    if (field_of(kernel) >= 8)
        return step % 10 == kernel % 10;
    return kernel % 20 == 7 ? step == 0 : kernel % 5 == 3 ? step % 10 == kernel % 10 : 1;
}

int main(int argc, char **argv)
{
    long most = argc > 1 ? atol(argv[1]) : 100000, entered = 0;
    for (int f = 0; f < FIELDS; f++)
        for (int a = 0; a < 3; a++) {
            field[f][a] = malloc((size_t)lengths[f] * sizeof(double));
            if (!field[f][a])
                return 1;
            for (int i = 0; i < lengths[f]; i++)
                field[f][a][i] = a + 1 + i % 13;
        }
    for (long step = 0; entered < most; step++)
        for (int k = 0; k < KERNELS && entered < most; k++)
            if (due(k, step)) {
                kernels[k](field_of(k));
                entered++;
            }
    double sum = 0;
    for (int f = 0; f < FIELDS; f++)
        for (int i = 0; i < lengths[f]; i++)
            sum += field[f][0][i];
    printf("%ld invocations, checksum %.6e\n", entered, sum);
    return 0;
}
